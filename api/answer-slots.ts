import type { ServerResponse } from 'node:http';
import { KeyedSemaphore } from '../src/platform/concurrency/keyed-semaphore.ts';
import { concurrencyLimitReached, unavailable } from '../src/platform/errors.ts';

/**
 * Limits how many answers of a key are in memory as a whole. Each has its slot from when its content is read until the
 * client has it, or has disconnected; further ones wait in order, and are not read meanwhile.
 */
export class AnswerSlots {
  readonly #semaphore: KeyedSemaphore;
  readonly #maxConcurrent: number;

  constructor(maxConcurrent: number, maxWaiting: number) {
    this.#maxConcurrent = maxConcurrent;
    this.#semaphore = new KeyedSemaphore(maxConcurrent, maxWaiting);
  }

  /** Reads the content of an answer. @throws AppError rate_limit_exceeded; and whatever `read` throws */
  async read<Content>(
    key: string,
    outgoing: Pick<ServerResponse, 'destroyed' | 'once'>,
    read: () => Promise<Content>,
  ): Promise<Content> {
    if (!this.#semaphore.canEnqueue(key)) throw concurrencyLimitReached(this.#maxConcurrent);
    const ended = new Promise((resolve) => outgoing.once('close', resolve));
    const content = Promise.withResolvers<Content>();
    void this.#semaphore.run(key, async () => {
      // A client that has disconnected emits no further `close`.
      if (outgoing.destroyed) return content.reject(unavailable('The answer'));
      try {
        content.resolve(await read());
      } catch (error) {
        return content.reject(error);
      }
      if (!outgoing.destroyed) await ended;
    });
    return content.promise;
  }
}
