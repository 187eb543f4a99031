import type { CreatedJob } from '../../jobs/index.ts';
import type { Sealer } from '../../platform/crypto.ts';
import { concurrencyLimitReached } from '../../platform/errors.ts';
import { claimedKey, type IdempotencyClaim } from '../../platform/idempotency.ts';
import { newId } from '../../platform/ids.ts';
import type { Scope } from '../../platform/scope.ts';
import { statement } from '../../platform/sql.ts';
import { lockForTransaction } from '../../platform/tenant-locks.ts';
import type { ActionPolicy } from '../../temporal/contracts/integrations.ts';
import type { PlanName } from '../../tenancy/core/plans.ts';
import { integrationLimits } from '../core/limits.ts';
import { actionJob } from './job.ts';
import type { RequestedAction } from './request-action.ts';
import { actionContents } from './sealed-action.ts';

export interface CreateServices {
  sealer: Sealer;
  actionPolicy: ActionPolicy;
}

export interface NewAction {
  requested: RequestedAction;
  /** The connected account. */
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

/**
 * Creates an action.
 * @throws AppError idempotency_key_reused, rate_limit_exceeded; SealError
 */
export function createAction(
  { sealer, actionPolicy }: CreateServices,
  scope: Scope,
  { requested, accountId, plan, idempotency, waiter, firstBy }: NewAction,
): Promise<CreatedJob> {
  const { integrationId, actionId: name, action, payload, delaySeconds, priority } = requested;
  const id = newId();
  const sealed = actionContents(sealer, scope).seal(id, 'payload', payload);
  const isDelayed = delaySeconds > 0;
  const declared = isDelayed ? integrationLimits.scheduledActions : integrationLimits.openActions;
  const limit = declared.of(plan);
  const isRepeatable = scope.tenant.environment === 'test' || !action.writes;
  const begunMs = firstBy === 'workflow' ? null : actionPolicy.attemptMs + actionPolicy.graceMs;
  return actionJob.create(scope, {
    id,
    idempotency,
    async insert(tx) {
      await lockForTransaction(tx, 'integration actions');
      const values = [integrationId, name, accountId, isDelayed ? 'scheduled' : 'processing', isRepeatable, sealed];
      const claimed = idempotency ? JSON.stringify(claimedKey(idempotency)) : null;
      const more = [claimed, delaySeconds, begunMs, scope.correlationId, limit, priority];
      if (!(await tx.one(insert, id, ...values, ...more))) {
        throw concurrencyLimitReached(limit, declared.window);
      }
    },
    hint: firstBy === 'caller_alone' ? null : { waiter, begun: firstBy === 'caller' },
  });
}
