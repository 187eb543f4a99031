import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import type { Sealer } from '../../platform/security/crypto.ts';
import type { JobRef } from '../../temporal/contracts/jobs.ts';
import type { ActionFailure, ActionStatus } from '../core/action-status.ts';
import { type ActionJobServices, actionJob, endedColumns, endedRow, failureOf, recordEnd } from './job.ts';
import { actionContents } from './sealed-action.ts';

export interface EndServices extends ActionJobServices {
  sealer: Sealer;
}

const complete = statement({
  name: 'action.complete',
  parameters: { id: 'uuid', sealedResult: 'text' },
  row: endedRow,
  text: `update integration_action set status = 'completed', answer = :sealedResult, payload = null,
    finished_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :id and status = 'processing'
   returning ${endedColumns}`,
});

const fail = statement({
  name: 'action.fail',
  parameters: { id: 'uuid', status: 'text', failure: 'jsonb', attempts: 'smallint' },
  row: endedRow,
  text: `update integration_action set status = :status, failure = :failure, payload = null,
    finished_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :id and status = 'processing'
      and attempts = :attempts
   returning ${endedColumns}`,
});

// A request without an answer may have been performed.
const cancelAttempt = statement({
  name: 'action.cancel_attempt',
  parameters: { id: 'uuid', failed: 'jsonb', unknown: 'jsonb', attempts: 'smallint' },
  row: endedRow,
  text: `update integration_action a
      set status = case when sent.is_lost then 'unknown' else 'cancelled' end,
          failure = case when sent.is_lost then :unknown else :failed end, payload = null, finished_at = atelier_now()
     from (select id, submitted_at is not null and not repeatable and not unsent as is_lost from integration_action
            where organization_id = :organizationId and environment = :environment and id = :id and status = 'processing'
              and attempts = :attempts for update) sent
    where a.organization_id = :organizationId and a.environment = :environment and a.id = sent.id
   returning ${endedColumns}`,
});

const cancelScheduled = statement({
  name: 'action.cancel_scheduled',
  parameters: { id: 'uuid' },
  row: endedRow,
  text: `update integration_action set status = 'cancelled', payload = null, finished_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :id and status = 'scheduled'
   returning ${endedColumns}`,
});

/** Records the answer of a provider. @param answer JSON as text @returns false when the action had ended before */
export function completeAction(services: EndServices, scope: Scope, ref: JobRef, answer: string): Promise<boolean> {
  const { id } = ref;
  const sealed = actionContents(services.sealer, scope).sealJson(id, 'answer', answer);
  return actionJob.end(services, scope, ref, async ({ tx }) =>
    recordEnd(tx, id, await tx.one(complete, { id, sealedResult: sealed })),
  );
}

/**
 * Records why an action failed, or that its outcome is unknown.
 * @param attempts the attempt that says so
 * @returns false when it had ended before, or another attempt has superseded this one
 */
export function failAction(
  services: EndServices,
  scope: Scope,
  ref: JobRef,
  failure: ActionFailure,
  attempts: number,
): Promise<boolean> {
  const { id } = ref;
  const status: ActionStatus = failure.outcome === 'unknown' ? 'unknown' : 'failed';
  return actionJob.end(services, scope, ref, async ({ tx }) =>
    recordEnd(tx, id, await tx.one(fail, { id, status, failure: JSON.stringify(failure), attempts })),
  );
}

/**
 * Cancels an action whose attempt was interrupted. If its request was sent, the outcome is unknown.
 * @returns false when it had ended before, or another attempt has superseded this one
 */
export const cancelInterrupted = (services: EndServices, scope: Scope, ref: JobRef, attempts: number) =>
  actionJob.end(services, scope, ref, async ({ tx }) => {
    const { id } = ref;
    const [failed, unknown] = [failureOf('failed'), failureOf('unknown')];
    return recordEnd(tx, id, await tx.one(cancelAttempt, { id, failed, unknown, attempts }));
  });

/**
 * Cancels an action that waits for its time, and has its workflow stop.
 * @returns false when it is being performed or has ended
 */
export const cancelScheduledAction = (services: EndServices, scope: Scope, id: string): Promise<boolean> =>
  actionJob.end(services, scope, { id, waiter: null }, async ({ tx }) => {
    const ended = await tx.one(cancelScheduled, { id });
    if (ended) await actionJob.enqueueCancel(tx, id);
    return recordEnd(tx, id, ended);
  });
