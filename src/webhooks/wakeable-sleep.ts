/** The pause of a loop between two looks, which others can end. */
export class WakeableSleep {
  #woken = Promise.withResolvers<void>();

  /** Ends the sleep; without one, the next ends as soon as it begins. */
  wake(): void {
    this.#woken.resolve();
  }

  /** Resolves when it is woken or the time is over. */
  async sleep(ms: number): Promise<void> {
    const timer = setTimeout(() => this.wake(), ms);
    await this.#woken.promise;
    clearTimeout(timer);
    this.#woken = Promise.withResolvers();
  }
}
