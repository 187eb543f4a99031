import type { TenantKey } from '../security/tenant-key.ts';
import { FairQueue } from './fair-queue.ts';
import { UsedTime } from './used-time.ts';

/** The longest pause after a piece of work. */
export const maxPauseMs = 100;

/**
 * Shares the main thread between work that is large and cannot be handed to another process: filling in a prompt of
 * megabytes, writing it as JSON. One piece is done at a time, of the organization that has used least. After it the thread is
 * left to everything else for as long as the piece took, so that such work never has more than half of it.
 */
export class MainThreadShare {
  readonly #used = new UsedTime();
  readonly #queue = new FairQueue<() => void>((key) => this.#used.of(key));
  #isBusy = false;

  /** @param piece takes milliseconds, and does not wait for anything. @throws what `piece` throws */
  async run<Result>(key: TenantKey, piece: () => Result): Promise<Result> {
    await new Promise<void>((resolve) => {
      this.#queue.push(key, resolve);
      this.#next();
    });
    const endUse = this.#used.begin(key);
    const startedAt = performance.now();
    try {
      return piece();
    } finally {
      endUse();
      // A timer drops fractions.
      const pauseMs = Math.min(Math.ceil(performance.now() - startedAt), maxPauseMs);
      setTimeout(() => {
        this.#isBusy = false;
        this.#next();
      }, pauseMs);
    }
  }

  #next(): void {
    if (this.#isBusy) return;
    const begin = this.#queue.take(() => true);
    if (!begin) return;
    this.#isBusy = true;
    begin();
  }
}
