import type { CreatedJob } from '../../jobs/index.ts';
import { lockForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import { claimedKey, type IdempotencyClaim } from '../../platform/database/idempotency.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { concurrencyLimitReached } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Sealer } from '../../platform/security/crypto.ts';
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

interface NewAction {
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
const insert = statement({
  name: 'action.insert',
  parameters: {
    id: 'uuid',
    integration: 'text',
    action: 'text',
    accountId: 'text',
    status: 'text',
    repeatable: 'boolean',
    payload: 'text',
    claim: 'jsonb?',
    delaySeconds: 'float8',
    begunMs: 'float8?',
    correlationId: 'text',
    limit: 'int',
    priority: 'text',
  },
  row: { id: 'uuid' },
  text: `insert into integration_action (id, organization_id, environment, integration, action, account_id, status,
    repeatable,
          payload, claim, due_at, delayed, attempts, paused_ms, submitted_at, begun_until, correlation_id, priority,
            created_at, unsent)
   select :id, :organizationId, :environment, :integration, :action, :accountId, :status, :repeatable, :payload, :claim,
          atelier_now() + make_interval(secs => :delaySeconds), :delaySeconds > 0,
          case when :begunMs is null then 0 else 1 end, 0,
          case when :begunMs is not null then atelier_now() end,
          atelier_now() + make_interval(secs => :begunMs / 1000), :correlationId, :priority, atelier_now(),
          :begunMs is not null
    where (select count(*) from (
             select from integration_action where organization_id = :organizationId and environment = :environment
               and status = :status
              limit :limit) as counted) < :limit
   returning id`,
});

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
      const inserted = await tx.one(insert, {
        id,
        integration: integrationId,
        action: name,
        accountId,
        status: isDelayed ? 'scheduled' : 'processing',
        repeatable: isRepeatable,
        payload: sealed,
        claim: idempotency ? JSON.stringify(claimedKey(idempotency)) : null,
        delaySeconds,
        begunMs,
        correlationId: scope.correlationId,
        limit,
        priority,
      });
      if (!inserted) throw concurrencyLimitReached(limit, declared.window);
    },
    hint: firstBy === 'caller_alone' ? null : { waiter, begun: firstBy === 'caller' },
  });
}
