import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { type HealthState, healthState, successRate } from '../core/health.ts';
import { maxCounted } from '../core/retry-release.ts';
import { attemptsOfDay } from '../dispatch/attempt-counts.ts';
import { isFirst } from '../dispatch/ready.ts';
import { isHeld } from '../dispatch/subject-order.ts';
import { webhookNotFound } from '../errors.ts';
import { isWaiting } from '../retries/retry-release.ts';
import { getSubscription, type Subscription, type SubscriptionServices } from './subscriptions.ts';

/** How deliveries to a webhook fare. */
export interface WebhookHealth {
  state: HealthState;
  /** Since when every attempt has failed; null while the latest one succeeded. */
  failingSince: Date | null;
  /** While the breaker is open: no attempt before. */
  nextProbeAt: Date | null;
  /** Deliveries with attempts still to come; counted up to `maxCounted`. */
  waiting: number;
  /** Counted up to `maxCounted`. */
  deadLettered: number;
  /** Events that were not delivered, because too many deliveries waited, and that no recovery has brought since. */
  skipped: number;
  /** The share of successful attempts in the last 24 hours, in [0, 1]; null when there were none. */
  successRate24h: number | null;
}

// Each names the condition of a partial index.
const counted = (condition: string) =>
  `(select count(*)::int from (select from delivery d where d.organization_id = :organizationId and d.environment = :environment
        and d.subscription_id = s.id and ${condition} limit ${maxCounted}) counted)`;

const findHealth = statement({
  name: 'subscription.health',
  parameters: { id: 'uuid' },
  row: {
    failures: 'int',
    failingSince: 'timestamptz?',
    nextProbeAt: 'timestamptz?',
    waiting: 'int',
    deadLettered: 'int',
    skipped: 'int',
    delivered: 'int',
    failed: 'int',
  },
  text: `select s.consecutive_failures as failures, s.failing_since as "failingSince",
          case when s.is_active then s.next_probe_at end as "nextProbeAt",
          ${counted(isFirst)} + ${counted(isWaiting)} + ${counted(isHeld)} as waiting,
          ${counted("d.status = 'dead_lettered'")} as "deadLettered",
          coalesce((select count from skipped_events where subscription_id = s.id), 0) as skipped, day.delivered,
            day.failed
     from webhook_subscription s cross join lateral ${attemptsOfDay('s.id')} day
    where s.organization_id = :organizationId and s.environment = :environment and s.id = :id and s.deleted_at is null`,
});

interface SubscriptionDetail extends Subscription {
  health: WebhookHealth;
}

/** A subscription and its health. @param id in either form @throws AppError not_found; SealError */
export async function getSubscriptionDetail(
  services: Pick<SubscriptionServices, 'sealer'>,
  scope: Scope,
  id: string,
): Promise<SubscriptionDetail> {
  const subscription = await getSubscription(services, scope, id);
  const row = await scope.one(findHealth, { id: subscription.id });
  if (!row) throw webhookNotFound(id);
  const { failures, failingSince, nextProbeAt, waiting, deadLettered, skipped, delivered, failed } = row;
  const state = healthState(failures, nextProbeAt !== null);
  const health = {
    state,
    failingSince,
    nextProbeAt,
    waiting: Math.min(waiting, maxCounted),
    deadLettered,
    skipped,
    successRate24h: successRate(delivered, failed),
  };
  return { ...subscription, health };
}
