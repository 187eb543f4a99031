/**
 * Lets long work of this thread go on in turns: one piece in each round of the event loop, of whichever work has waited
 * longest. What arrives meanwhile waits for one piece, and not for one of each work that is under way.
 */
export class EventLoopRounds {
  readonly #waiting: (() => void)[] = [];

  /** Resolves in a round of the event loop that belongs to the caller. Its piece ends where it waits for anything. */
  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(() => this.#begin());
    });
  }

  #begin(): void {
    this.#waiting[0]!();
    this.#waiting.shift();
    if (this.#waiting.length > 0) setImmediate(() => this.#begin());
  }
}
