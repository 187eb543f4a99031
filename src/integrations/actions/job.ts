import { defineJob } from '../../jobs/index.ts';
import type { Waiters } from '../../platform/concurrency/waiters.ts';
import { type ClaimedKey, releaseClaim } from '../../platform/database/idempotency.ts';
import type { Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { type RowWith, typed } from '../../platform/database/sql-types.ts';
import { type ActionPolicy, actionContract } from '../../temporal/contracts/integrations.ts';
import { actionPriorities } from '../../temporal/contracts/priorities.ts';
import { type ActionFailure, type ActionStatus, actionStates } from '../core/action-status.ts';
import type { ActionPriority } from '../definition/integration.ts';
import { failPoint } from './fail-points.ts';

export interface ActionJobServices {
  actionWaiters: Waiters;
  actionPolicy: ActionPolicy;
}

/** Columns of an action that its end returns, and their types. */
export const endedColumns = 'integration, action, status, delayed, claim';
export const endedRow = {
  integration: 'text',
  action: 'text',
  status: typed<ActionStatus>('text'),
  delayed: 'boolean',
  claim: typed<ClaimedKey | null>('jsonb?'),
} as const;

type EndedAction = RowWith<typeof endedRow>;

/** Condition in SQL of actions that have not ended. */
export const isOpen = `status in (${actionStates.sql('scheduled', 'processing')})`;

// A request without an answer may have been performed.
const markUnknown = statement({
  name: 'action.mark_unknown',
  parameters: { id: 'uuid', failure: 'jsonb' },
  row: endedRow,
  text: `update integration_action set status = 'unknown', failure = :failure, payload = null,
    finished_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :id and status = 'processing'
      and submitted_at is not null and not repeatable and not unsent
   returning ${endedColumns}`,
});

const abandon = statement({
  name: 'action.abandon',
  parameters: { id: 'uuid', status: 'text', failure: 'jsonb' },
  row: endedRow,
  text: `update integration_action set status = :status, failure = :failure, payload = null,
    finished_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :id and ${isOpen}
   returning ${endedColumns}`,
});

/** The failure of an action that was stopped, as JSON. */
export const failureOf = (outcome: 'failed' | 'unknown') =>
  JSON.stringify({ code: 'action_failed', outcome } satisfies ActionFailure);

/** What belongs to the end of an action, in its transaction. @returns false where there was none */
export async function recordEnd(tx: Transaction, id: string, ended: EndedAction | undefined): Promise<boolean> {
  if (!ended) return false;
  const { integration, action, status, delayed, claim } = ended;
  // The key is kept for an answer, and for an action that must not be repeated.
  if (claim && status !== 'completed' && status !== 'unknown') await releaseClaim(tx, claim, id);
  // The caller has its answer already, so the audit log records the end.
  if (delayed) {
    await tx.audit({ action: 'integration.delayed_action', subjectId: id, facts: { integration, action, status } });
  }
  return true;
}

/** An action of an integration. If a request was sent that may have been performed, its end is an unknown outcome. */
export const actionJob = defineJob<{
  services: ActionJobServices;
  policy: ActionPolicy;
  row: { integration: string; action: string; dueAt: Date; delayed: boolean; priority: ActionPriority };
  hint: { waiter: string; begun: boolean };
  /** The status of an action that was certainly not performed. */
  error: 'failed' | 'cancelled';
}>({
  contract: actionContract,
  plural: 'actions',
  table: 'integration_action',
  isOpen,
  failPoints: failPoint.names,
  policy: ({ actionPolicy }) => actionPolicy,
  waiters: ({ actionWaiters }) => actionWaiters,
  deadline: { from: 'due_at', ms: ({ deadlineMs }) => [deadlineMs] },
  errors: { timeout: 'failed', terminated: 'cancelled', unexpected: 'failed', cancelled: 'cancelled' },
  async stop(_, { tx }, { id }, status) {
    const unknown = await tx.one(markUnknown, { id, failure: failureOf('unknown') });
    return recordEnd(tx, id, unknown ?? (await tx.one(abandon, { id, status, failure: failureOf('failed') })));
  },
  start: {
    columns: 'integration, action, due_at as "dueAt", delayed, priority',
    row: { integration: 'text', action: 'text', dueAt: 'timestamptz', delayed: 'boolean', priority: 'text' },
    // Includes a job that failed before its workflow began: the workflow fails too, so that operators find it.
    isPending: `status in (${actionStates.sql('scheduled', 'processing', 'failed', 'unknown')})`,
    options: ({ integration, action, dueAt, delayed, priority }, hint) => ({
      args: { ...(delayed && { dueAt: dueAt.getTime() }), ...(hint?.begun && { begun: true }) },
      priority: actionPriorities[delayed ? 'later' : 'now'][priority],
      summary: `${integration} ${action}`,
      waitsFirst: delayed,
    }),
  },
  // A delay may be as long as what ended is kept, so that time is counted from the end.
  forget: { from: 'finished_at' },
});
