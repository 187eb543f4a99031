/** Ends what was started, the last first, whatever happens on the way. */
export class Cleanup {
  readonly #steps: (() => unknown)[] = [];
  readonly #errors: unknown[] = [];
  #running: Promise<void> = Promise.resolve();
  #interrupted = false;

  /** What is added after an interruption is ended at once. */
  add(step: () => unknown): void {
    this.#steps.push(step);
    if (this.#interrupted) this.#continue();
  }

  /** Does everything that was added, in the middle of other work too. */
  interrupt(): void {
    this.#interrupted = true;
    this.#continue();
  }

  /** Resolves when everything that was added is done; rejects then when a step did. */
  async run(): Promise<void> {
    this.#continue();
    await this.#running;
    if (this.#errors.length > 0) throw new AggregateError(this.#errors, this.#errors.map(String).join('\n'));
  }

  #continue(): void {
    this.#running = this.#running.then(async () => {
      for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
        try {
          await step();
        } catch (error) {
          this.#errors.push(error);
        }
      }
    });
  }
}
