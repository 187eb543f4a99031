import type { Sealer } from '../../platform/crypto.ts';
import { concurrencyLimitReached } from '../../platform/errors.ts';
import { findClaim, type IdempotencyClaim } from '../../platform/idempotency.ts';
import { newId } from '../../platform/ids.ts';
import type { Scope } from '../../platform/scope.ts';
import { statement } from '../../platform/sql.ts';
import { lockForTransaction } from '../../platform/tenant-locks.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import type { ActionPolicy } from '../../temporal/contracts/integrations.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { fairnessOf } from '../../tenancy/index.ts';
import { actionStates } from '../core/action-status.ts';
import { integrationLimits } from '../core/limits.ts';
import type { ActionPriority } from '../integration.ts';
import { startPerformAction } from './action-workflows.ts';
import { failPoint } from './fail-points.ts';
import type { RequestedAction } from './request-action.ts';
import { actionContents } from './sealed-action.ts';

export interface CreateServices {
  sealer: Sealer;
  actionPolicy: ActionPolicy;
}

export interface NewAction {
  requested: RequestedAction;
  /** Of the account that is connected. */
  accountId: string;
  plan: PlanName;
  idempotency: IdempotencyClaim | undefined;
  /** Notification channel of the process that waits for the end. */
  waiter: string;
  /**
   * Who makes the first attempt: the workflow, after the commit; or the caller itself, which then must begin at once.
   * `caller_alone`: no workflow is started.
   */
  firstBy: 'workflow' | 'caller' | 'caller_alone';
}

export interface CreatedAction {
  actionId: string;
  /** An earlier request with the same Idempotency-Key made it. */
  replayed: boolean;
}

/** What the start right after the commit needs to know. */
export interface StartHint {
  waiter: string;
  begun: boolean;
}

// The first attempt of the caller is marked from the beginning.
const insert = statement<{ id: string }>(
  'action.insert',
  `insert into integration_action (id, organization_id, environment, integration, action, account_id, status, repeatable,
          payload, claim, due_at, delayed, attempts, paused_ms, submitted_at, begun_until, correlation_id, priority, created_at, unsent)
   select $3::uuid, $1::uuid, $2::text, $4::text, $5::text, $6::text, $7::text, $8::boolean, $9::text, $10::jsonb,
          clock_timestamp() + make_interval(secs => $11::float8), $11::float8 > 0,
          case when $12::float8 is null then 0 else 1 end, 0,
          case when $12::float8 is not null then clock_timestamp() end,
          clock_timestamp() + make_interval(secs => $12::float8 / 1000), $13::text, $15::text, clock_timestamp(),
          $12::float8 is not null
    where (select count(*) from (
             select from integration_action where organization_id = $1::uuid and environment = $2::text and status = $7::text
              limit $14::int) as counted) < $14::int
   returning id`,
);

/** The action that an earlier request with the same key made. @throws AppError idempotency_key_reused */
export async function findEarlier(
  scope: Scope,
  claim: IdempotencyClaim | undefined,
): Promise<CreatedAction | undefined> {
  const earlier = claim && (await findClaim(scope, claim));
  return earlier && { actionId: earlier.resourceId, replayed: true };
}

/**
 * Creates an action: its row, the claim of its Idempotency-Key and the outbox entry that starts its workflow commit together.
 * @throws AppError idempotency_key_reused, rate_limit_exceeded; SealError
 */
export async function createAction(
  { sealer, actionPolicy }: CreateServices,
  scope: Scope,
  { requested, accountId, plan, idempotency: claim, waiter, firstBy }: NewAction,
): Promise<CreatedAction> {
  const { integrationId, actionId: name, action, payload, delaySeconds, priority } = requested;
  const id = newId();
  const sealed = actionContents(sealer, scope).seal(id, 'payload', JSON.stringify(payload));
  const isDelayed = delaySeconds > 0;
  const declared = isDelayed ? integrationLimits.scheduledActions : integrationLimits.openActions;
  const limit = declared.of(plan);
  const isRepeatable = scope.tenant.environment === 'test' || !action.writes;
  const claimed = claim && { method: claim.method, path: claim.path, key: claim.key };
  const begunMs = firstBy === 'workflow' ? null : actionPolicy.attemptMs + actionPolicy.graceMs;
  const { outcome, replayed } = await scope.transaction(
    async (tx) => {
      await lockForTransaction(tx, 'integration actions');
      const values = [integrationId, name, accountId, isDelayed ? 'scheduled' : 'processing', isRepeatable, sealed];
      const more = [
        claimed ? JSON.stringify(claimed) : null,
        delaySeconds,
        begunMs,
        scope.correlationId,
        limit,
        priority,
      ];
      if (!(await tx.one(insert, id, ...values, ...more))) throw concurrencyLimitReached(limit, declared.window);
      const hint: StartHint = { waiter, begun: firstBy === 'caller' };
      if (firstBy !== 'caller_alone') await tx.enqueue('action.start', id, hint);
      return { id };
    },
    { claim, outcome: { id } },
  );
  if (!replayed) failPoint('action.committed');
  return { actionId: outcome.id, replayed };
}

interface Pending {
  plan: PlanName;
  integration: string;
  action: string;
  dueAt: Date;
  delayed: boolean;
  priority: ActionPriority;
}
// Also of one that failed before its workflow began: the workflow fails too, so that operators find it.
const findPending = statement<Pending>(
  'action.pending_start',
  `select o.plan, a.integration, a.action, a.due_at as "dueAt", a.delayed, a.priority
     from integration_action a join organization o on o.id = a.organization_id
    where a.organization_id = $1 and a.environment = $2 and a.id = $3
      and a.status in (${actionStates.sql('scheduled', 'processing', 'failed', 'unknown')})`,
);

/** Starts the workflow of an action, unless it is over. @param hint given right after the commit */
export async function startPendingAction(
  { temporal, actionPolicy: policy }: { temporal: TemporalClient; actionPolicy: ActionPolicy },
  scope: Scope,
  actionId: string,
  hint?: StartHint,
): Promise<void> {
  const pending = await scope.one(findPending, actionId);
  if (!pending) return;
  const { tenant, correlationId } = scope;
  const { plan, integration, action, dueAt, delayed, priority } = pending;
  const args = {
    ...tenant,
    correlationId,
    actionId,
    waiter: hint?.waiter ?? null,
    policy,
    ...(delayed && { dueAt: dueAt.getTime() }),
    ...(hint?.begun && { begun: true }),
  };
  const summary = `${integration} ${action}`;
  await startPerformAction(temporal, args, { fairness: fairnessOf(tenant, plan), summary, priority });
  failPoint('action.started');
}
