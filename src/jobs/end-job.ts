import { setTimeout as sleep } from 'node:timers/promises';
import { settleCredits, voidCredits } from '../credits/index.ts';
import { databaseFailure } from '../platform/database/database-errors.ts';
import type { Scope, Transaction } from '../platform/database/scope.ts';
import type { JobRef } from '../temporal/contracts/jobs.ts';
import { creditKey, storedName } from './core/names.ts';
import type { Ending, JobDeclaration, JobTypes, StopReason } from './declaration.ts';
import type { JobFailPoint } from './fail-points.ts';

const tries = { count: 5, firstMs: 200 };

/** A provider's answer cannot be fetched again, so an interruption of the database must not lose it. */
export async function recordPatiently<T>(record: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await record();
    } catch (error) {
      if (!databaseFailure(error) || tried >= tries.count) throw error;
      await sleep(tries.firstMs * 2 ** (tried - 1));
    }
  }
}

export function jobEnd<Of extends JobTypes>(
  { contract, errors, stop, waiters }: JobDeclaration<Of>,
  failPoint: JobFailPoint,
) {
  const key = (id: string) => ({ key: creditKey(contract, id) });
  const endingIn = (tx: Transaction, id: string): Ending => ({
    tx,
    settleCredits: (amount) => settleCredits(tx, { ...key(id), amount }),
    voidCredits: () => voidCredits(tx, key(id)),
  });

  /**
   * Ends a job: what `record` does commits together, and wakes the request that waits for the job.
   * @param record records the end, and settles or voids the credits; false: the job had ended before
   * @returns the same
   */
  async function end(
    services: Of['services'],
    scope: Scope,
    { id, waiter }: JobRef,
    record: (ending: Ending) => Promise<boolean>,
  ): Promise<boolean> {
    const waiting = waiters(services);
    const hasEnded = await recordPatiently(() =>
      scope.transaction(async (tx) => {
        const recorded = await record(endingIn(tx, id));
        if (recorded) await waiting.notifyRemote(tx, id, waiter);
        return recorded;
      }),
    );
    failPoint('recorded');
    waiting.notifyLocal(id);
    return hasEnded;
  }

  /** Ends a job without a result, and returns its credits. @returns false when it had ended before */
  const stopWith = (
    services: Of['services'],
    scope: Scope,
    ref: JobRef,
    error: Of['error'],
    also?: (tx: Transaction) => Promise<void>,
  ): Promise<boolean> =>
    end(services, scope, ref, async (ending) => {
      if (!(await stop(services, ending, ref, error))) return false;
      await also?.(ending.tx);
      return true;
    });

  /** Has the workflow of a job stop after the commit. Harmless when it is over or was never started. */
  const enqueueCancel = (tx: Transaction, id: string): Promise<void> =>
    tx.enqueue(`${storedName(contract)}.cancel`, id);

  return {
    end,
    stopWith,
    enqueueCancel,
    stop: (services: Of['services'], scope: Scope, ref: JobRef, reason: StopReason): Promise<boolean> =>
      stopWith(services, scope, ref, errors[reason]),

    /** Stops a job for its caller, and its workflow. @returns false when it had ended before */
    cancel: (services: Of['services'], scope: Scope, id: string): Promise<boolean> =>
      stopWith(services, scope, { id, waiter: null }, errors.cancelled, (tx) => enqueueCancel(tx, id)),
  };
}
