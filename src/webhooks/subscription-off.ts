import type { Database } from '../platform/database.ts';
import { enqueueSql, replacingEarlier } from '../platform/enqueue.ts';
import type { Scope } from '../platform/scope.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import { type DeliveryStatus, deliveryStates, openDelivery } from './core/delivery-status.ts';
import type { DisabledReason } from './core/subscription-state.ts';

/** Why a subscription is off; null when its owner turned it off. */
export type OffReason = DisabledReason | null;

const statesBefore = (to: DeliveryStatus) => deliveryStates.sql(...deliveryStates.before(to));

// Workflows of deliveries that failed once wait for a retry or a replay that will not come.
const enqueueStopped = statement<{ subjectId: string; entryId: string }>(
  'subscription.enqueue_stopped',
  `${enqueueSql('subscription.stopped', { subject: '$3::uuid', correlation: '$4', from: '(select) as once' })}
    where exists (select from delivery where organization_id = $1 and environment = $2 and subscription_id = $3::uuid
                     and attempts > 0 and status in ('dead_lettered', 'failed'))
   ${replacingEarlier}
   returning subject_id as "subjectId", id as "entryId"`,
  { enqueues: { 'subscription.stopped': (row) => row } },
);

const resumeStoppedLater = (scope: Scope, subscriptionId: string) =>
  scope.rows(enqueueStopped, subscriptionId, scope.correlationId);

// The first reason stays.
const turnOffSubscription = statement(
  'subscription.turn_off',
  `update webhook_subscription
      set is_active = false, disabled_reason = $4::varchar, disabled_at = clock_timestamp(), updated_at = clock_timestamp()
    where organization_id = $1::uuid and environment = $2::varchar and id = $3::uuid and is_active
      and deleted_at is null`,
);

const parkOpen = statement(
  'subscription.park_open',
  `update delivery
      set status = 'dead_lettered', error_class = 'subscription_off', next_attempt_at = null,
          finished_at = clock_timestamp()
    where organization_id = $1::uuid and environment = $2::varchar and subscription_id = $3::uuid
      and status in (${statesBefore('dead_lettered')})
      and exists (select from webhook_subscription s where s.id = subscription_id and s.deleted_at is null)`,
);

/**
 * Turns a subscription off and dead-letters its open deliveries, which can be replayed once it is active again. It can be
 * repeated, and then catches deliveries that were created concurrently. Locks the subscription before its deliveries.
 * @param scope of a transaction
 * @param subscriptionId canonical uuid
 */
export async function turnOff(scope: Scope, subscriptionId: string, reason: OffReason): Promise<void> {
  await scope.rows(turnOffSubscription, subscriptionId, reason);
  await scope.rows(parkOpen, subscriptionId);
  await resumeStoppedLater(scope, subscriptionId);
}

// Deliveries that were created while the subscription was being turned off or deleted, or retried by an attempt that was in
// flight. The condition repeats those of the two partial indexes, so that finished deliveries are not read.
const sweepStatement = statement<{ id: string }>(
  'subscription.sweep_deliveries',
  `update delivery d
      set status = case when s.deleted_at is null then 'dead_lettered' else 'failed' end,
          error_class = case when s.deleted_at is null then 'subscription_off' else 'subscription_deleted' end,
          next_attempt_at = null, finished_at = clock_timestamp()
     from webhook_subscription s
    where s.id = d.subscription_id and (s.deleted_at is not null or not s.is_active)
      and (d.status = 'pending' and d.attempts = 0 or d.status in (${openDelivery}) and d.attempts > 0)
      and (d.leased_until is null or d.leased_until < clock_timestamp())
   returning d.id`,
);

/** Ends the open deliveries of subscriptions that are off or deleted, of all tenants. @returns how many */
export async function sweepTurnedOff(database: Database): Promise<number> {
  return (await sqlOn(database.pool).rows(sweepStatement)).length;
}

const endAll = statement(
  'subscription.end_deliveries',
  `update delivery
      set status = 'failed', error_class = 'subscription_deleted', next_attempt_at = null, finished_at = clock_timestamp()
    where organization_id = $1::uuid and environment = $2::varchar and subscription_id = $3::uuid
      and status in (${statesBefore('failed')})`,
);

/**
 * Fails the open deliveries and dead letters of a deleted subscription for good.
 * @param scope of the transaction that deleted the subscription
 * @param subscriptionId canonical uuid
 */
export async function endDeliveries(scope: Scope, subscriptionId: string): Promise<void> {
  await scope.rows(endAll, subscriptionId);
  await resumeStoppedLater(scope, subscriptionId);
}
