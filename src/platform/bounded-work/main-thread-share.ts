import type { Parts } from '../core/parts.ts';
import type { TenantKey } from '../security/tenant-key.ts';
import { FairQueue } from './fair-queue.ts';
import { UsedTime } from './used-time.ts';

/** The longest pause after a piece of work. */
export const maxPauseMs = 100;

/** How long parts of a work are done before others have the thread. */
const partMs = 2;

/**
 * Shares the main thread between large work that no other process can do: filling in a prompt of megabytes, writing it
 * as JSON. One piece runs at a time, of the organization that has used least. After it the thread is free for other
 * work for as long as the piece took, so that such work never has more than half of it.
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

  /** Does the parts of a work for a few milliseconds at a time. @throws what `parts` throws */
  async runInParts<Result>(key: TenantKey, parts: Parts<Result>): Promise<Result> {
    for (;;) {
      const { done, value } = await this.run(key, () => {
        const startedAt = performance.now();
        let part = parts.next();
        while (!part.done && performance.now() - startedAt < partMs) part = parts.next();
        return part;
      });
      if (done) return value;
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
