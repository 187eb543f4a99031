import { setTimeout as sleep } from 'node:timers/promises';
import { isDatabaseUnavailable } from '../../platform/database/database-errors.ts';
import { StorageFailure } from '../../storage/index.ts';

const pausesMs = [500, 2_000, 5_000];

/**
 * Stores an answer of a model. It is paid for, and another call would cost again: a storage or a database that is not
 * available is waited for, four attempts in all.
 * @param store stores it, and is told which attempt is the last one
 * @throws what the last attempt throws; at once any other error, and the reason of `signal`
 */
export async function storePaid<Stored>(
  store: (isLast: boolean) => Promise<Stored>,
  signal: AbortSignal,
): Promise<Stored> {
  for (const pauseMs of pausesMs) {
    try {
      return await store(false);
    } catch (error) {
      if (!(error instanceof StorageFailure) && !isDatabaseUnavailable(error)) throw error;
    }
    await sleep(pauseMs, undefined, { signal });
  }
  return store(true);
}
