import { setTimeout as sleep } from 'node:timers/promises';
import { KeyedSemaphore } from '../../platform/concurrency/keyed-semaphore.ts';

/** The longest pause after a read. */
const maxPauseMs = 100;

/**
 * What streams of many runs read, one at a time for an organization. After a read the next one waits for as long as it took:
 * fifty streams that begin over a hundred runs read five thousand runs, and the database and the process have others to serve.
 */
export class StreamReads {
  readonly #queues = new KeyedSemaphore(1, Number.POSITIVE_INFINITY);

  /** @throws what `read` throws */
  run<Result>(organizationId: string, read: () => Promise<Result>): Promise<Result> {
    return this.#queues.run(organizationId, async () => {
      const startedAt = performance.now();
      try {
        return await read();
      } finally {
        const tookMs = performance.now() - startedAt;
        // A result that was already there needs no pause.
        if (tookMs >= 1) await sleep(Math.min(tookMs, maxPauseMs));
      }
    });
  }
}
