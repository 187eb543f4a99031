import { setTimeout as sleep } from 'node:timers/promises';
import type { Sealer } from '../../platform/crypto.ts';
import { databaseFailure } from '../../platform/database-errors.ts';
import { type IdempotencyClaim, releaseClaim } from '../../platform/idempotency.ts';
import type { Scope, Transaction } from '../../platform/scope.ts';
import { statement } from '../../platform/sql.ts';
import type { Waiters } from '../../platform/waiters.ts';
import { type ActionFailure, type ActionStatus, actionStates } from '../core/action-status.ts';
import { failPoint } from './fail-points.ts';
import { actionContents } from './sealed-action.ts';

export interface EndServices {
  sealer: Sealer;
  waiters: Waiters;
}

/** Whose end it is, and the channel of another process that waits for it. */
export interface Ending {
  actionId: string;
  waiter: string | null;
}

interface Ended {
  integration: string;
  action: string;
  status: ActionStatus;
  delayed: boolean;
  claim: Pick<IdempotencyClaim, 'method' | 'path' | 'key'> | null;
}

const returned = 'integration, action, status, delayed, claim';
const isOpen = `status in (${actionStates.sql('scheduled', 'processing')})`;

const complete = statement<Ended>(
  'action.complete',
  `update integration_action set status = 'completed', answer = $4::text, payload = null, finished_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and id = $3 and status = 'processing'
   returning ${returned}`,
);

const fail = statement<Ended>(
  'action.fail',
  `update integration_action set status = $4::text, failure = $5::jsonb, payload = null, finished_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and id = $3 and status = 'processing' and attempts = $6
   returning ${returned}`,
);

// A request without an answer may have been performed.
const leaveUnknown = statement<Ended>(
  'action.leave_unknown',
  `update integration_action set status = 'unknown', failure = $4::jsonb, payload = null, finished_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and id = $3 and status = 'processing'
      and submitted_at is not null and not repeatable and not unsent
   returning ${returned}`,
);

const breakOff = statement<Ended>(
  'action.break_off',
  `update integration_action set status = $4::text, failure = $5::jsonb, payload = null, finished_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and id = $3 and ${isOpen}
   returning ${returned}`,
);

const cancelScheduled = statement<Ended>(
  'action.cancel_scheduled',
  `update integration_action set status = 'cancelled', payload = null, finished_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and id = $3 and status = 'scheduled'
   returning ${returned}`,
);

/** What every end of an action includes. */
async function alsoEnd({ waiters }: EndServices, tx: Transaction, { actionId, waiter }: Ending, ended: Ended) {
  const { integration, action, status, delayed, claim } = ended;
  // The key is kept for an answer, and for an action that must not be repeated.
  if (claim && status !== 'completed' && status !== 'unknown') await releaseClaim(tx, claim, actionId);
  await waiters.notifyRemote(tx, actionId, waiter);
  // The caller has its answer already, so the audit log records the end.
  if (delayed) {
    await tx.audit({
      action: 'integration.delayed_action',
      subjectId: actionId,
      facts: { integration, action, status },
    });
  }
}

const tries = { count: 5, firstMs: 200 };

/** A provider's answer cannot be fetched again, so an interruption of the database must not lose it. */
async function patiently<T>(write: () => Promise<T>): Promise<T> {
  for (let tried = 1; ; tried++) {
    try {
      return await write();
    } catch (error) {
      if (!databaseFailure(error) || tried >= tries.count) throw error;
      await sleep(tries.firstMs * 2 ** (tried - 1));
    }
  }
}

/**
 * Records what a provider did, or why it did not.
 * @returns false when the action had ended before
 */
async function record(
  services: EndServices,
  scope: Scope,
  ending: Ending,
  end: (tx: Transaction) => Promise<Ended | undefined>,
): Promise<boolean> {
  const isRecorded = await patiently(() =>
    scope.transaction(async (tx) => {
      const ended = await end(tx);
      if (ended) await alsoEnd(services, tx, ending, ended);
      return ended !== undefined;
    }),
  );
  failPoint('action.recorded');
  services.waiters.notifyLocal(ending.actionId);
  return isRecorded;
}

/** Records the answer of a provider. @param answer JSON as text @returns false when the action had ended before */
export function completeAction(services: EndServices, scope: Scope, ending: Ending, answer: string): Promise<boolean> {
  const sealed = actionContents(services.sealer, scope).seal(ending.actionId, 'answer', answer);
  return record(services, scope, ending, (tx) => tx.one(complete, ending.actionId, sealed));
}

/**
 * Records why an action failed, or that its outcome is unknown.
 * @param attempts the attempt that says so
 * @returns false when it had ended before, or another attempt has taken its place
 */
export function failAction(
  services: EndServices,
  scope: Scope,
  ending: Ending,
  failure: ActionFailure,
  attempts: number,
): Promise<boolean> {
  const status: ActionStatus = failure.outcome === 'unknown' ? 'unknown' : 'failed';
  return record(services, scope, ending, (tx) =>
    tx.one(fail, ending.actionId, status, JSON.stringify(failure), attempts),
  );
}

/**
 * Ends an abandoned action. If a request was sent that may have been performed, its outcome is unknown.
 * @returns false when it had ended before
 */
export const breakOffAction = (
  services: EndServices,
  scope: Scope,
  ending: Ending,
  status: 'failed' | 'cancelled',
): Promise<boolean> =>
  record(services, scope, ending, async (tx) => {
    const { actionId } = ending;
    const asUnknown = await tx.one(leaveUnknown, actionId, failureOf('unknown'));
    return asUnknown ?? (await tx.one(breakOff, actionId, status, failureOf('failed')));
  });

const failureOf = (outcome: 'failed' | 'unknown') =>
  JSON.stringify({ code: 'action_failed', outcome } satisfies ActionFailure);

/**
 * Cancels an action that waits for its time, and has its workflow stop.
 * @returns false when it is being performed or has ended
 */
export const cancelScheduledAction = (services: EndServices, scope: Scope, actionId: string): Promise<boolean> =>
  record(services, scope, { actionId, waiter: null }, async (tx) => {
    const ended = await tx.one(cancelScheduled, actionId);
    if (ended) await tx.enqueue('action.cancel', actionId);
    return ended;
  });
