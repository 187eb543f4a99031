/** Runs cleanup steps in reverse order, even if some fail. */
export class Cleanup {
  readonly #steps: (() => unknown)[] = [];
  readonly #errors: unknown[] = [];
  #running: Promise<void> = Promise.resolve();
  #interrupted = false;

  /** A step added after an interruption is run immediately. */
  add(step: () => unknown): void {
    this.#steps.push(step);
    if (this.#interrupted) this.#continue();
  }

  /** Runs all steps, also while other work is in progress. */
  interrupt(): void {
    this.#interrupted = true;
    this.#continue();
  }

  /** Resolves when all steps have ended; rejects if one failed. */
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
