/** Wakes one who waits, whether it sleeps or is about to: what happens while it looks is not missed. */
export class Bell {
  #isRung = false;
  #wake: (() => void) | undefined;

  /** Ends the sleep; without one, the next ends as soon as it begins. */
  ring(): void {
    this.#isRung = true;
    this.#wake?.();
  }

  /** Resolves when it was rung since the last time, after `withinMs`, or when `stop` is aborted. */
  heard(withinMs: number, stop?: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        stop?.removeEventListener('abort', wake);
        this.#wake = undefined;
        this.#isRung = false;
        resolve();
      };
      const timer = setTimeout(wake, withinMs);
      stop?.addEventListener('abort', wake);
      this.#wake = wake;
      if (this.#isRung || stop?.aborted) wake();
    });
  }
}
