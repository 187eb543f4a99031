import type { Database } from '../../platform/database/database.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { enqueueSql, replacingEarlier } from '../../platform/outbox/enqueue.ts';
import { type DeliveryStatus, deliveryStates, openDelivery } from '../core/delivery-status.ts';
import { type DisabledReason, subscriptionIs } from '../core/subscription-state.ts';
import { forgetDeliveryBlocks } from '../deliveries/delivery-blocks.ts';
import { eventOf, isTestEvent } from '../deliveries/publish-event.ts';
import { countDeadLettersSql, forgetAttempts } from '../dispatch/attempt-counts.ts';
import { subscriptionsOf } from '../dispatch/lease.ts';
import { isFirst } from '../dispatch/ready.ts';
import { isHeld } from '../dispatch/subject-order.ts';
import { isWaiting, wakeRetries } from '../retries/retry-release.ts';

/** Why a subscription is off; null when its owner turned it off. */
export type OffReason = DisabledReason | null;

const statesBefore = (to: DeliveryStatus) => deliveryStates.sql(...deliveryStates.before(to));

/** Maximum deliveries that one statement ends. The outbox ends further ones of a subscription within seconds. */
const batchSize = 1_000;

const some = (states: string) => `id in (
        select id from delivery
         where organization_id = :organizationId and environment = :environment and subscription_id = :subscriptionId
           and status in (${states}) limit ${batchSize})`;

const endRest = statement({
  name: 'subscription.end_rest',
  parameters: { subscriptionId: 'uuid', correlationId: 'text' },
  row: { subjectId: 'uuid', entryId: 'uuid' },
  text: `${enqueueSql('webhook.end_deliveries', {
    subject: ':subscriptionId',
    correlation: ':correlationId',
    from: '(select) as once',
  })}
   ${replacingEarlier} returning subject_id as "subjectId", id as "entryId"`,
  enqueues: { 'webhook.end_deliveries': (row) => row },
});

/** Ends deliveries of a subscription, and leaves it to the outbox when there may be more. */
async function endSome(scope: Scope, subscriptionId: string, of: typeof parkOpen): Promise<void> {
  const ended = await scope.rows(of, { subscriptionId });
  if (ended.length === batchSize) await scope.rows(endRest, { subscriptionId, correlationId: scope.correlationId });
}

// The first reason stays.
const disableStatement = statement({
  name: 'subscription.turn_off',
  parameters: { subscriptionId: 'uuid', reason: 'text?' },
  text: `update webhook_subscription
      set is_active = false, disabled_reason = :reason, disabled_at = atelier_now(), updated_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :subscriptionId and is_active
      and deleted_at is null`,
});

const parkedColumns = ['subscription_id', 'organization_id', 'environment', 'event_id', 'resent_event_id'];

/** CTEs that count the dead letters of the CTE `ended`, which has `parkedColumns`. */
const countParked = `counted_letter as (
     select e.subscription_id, e.organization_id, e.environment
       from ended e ${eventOf('e', 'type, is_test')} happened where not ${isTestEvent('happened')}),
   ${countDeadLettersSql('counted_letter')}`;

const parkOpen = statement({
  name: 'subscription.park_open',
  parameters: { subscriptionId: 'uuid' },
  row: { id: 'uuid' },
  text: `with ended as (
     update delivery
      set status = 'dead_lettered', error_class = 'subscription_off', next_attempt_at = null,
          finished_at = atelier_now(), parked_at = null
    where organization_id = :organizationId and environment = :environment and ${some(statesBefore('dead_lettered'))}
      and status in (${statesBefore('dead_lettered')})
      and exists (select from webhook_subscription s where s.id = subscription_id and ${subscriptionIs('s', 'off')})
     returning id, ${parkedColumns.join(', ')}),
   ${countParked}
   select id from ended`,
});

/**
 * Turns a subscription off and dead-letters its open deliveries, which can be replayed once it is active again. It can be
 * repeated, and then catches deliveries that were created concurrently. Locks the subscription before its deliveries.
 * @param scope of a transaction
 * @param subscriptionId canonical uuid
 */
export async function disableSubscription(scope: Scope, subscriptionId: string, reason: OffReason): Promise<void> {
  await scope.rows(disableStatement, { subscriptionId, reason });
  await endSome(scope, subscriptionId, parkOpen);
  await wakeRetries(scope, subscriptionId);
}

// Deliveries that were created while the subscription was being turned off or deleted, or retried by an attempt that
// was in flight. Reads the indexes of open deliveries from subscription to subscription, without those of active ones.
const isOff = (alias: string) => `(${subscriptionIs(alias, 'deleted')} or ${subscriptionIs(alias, 'off')})`;
const openOf = (condition: string) => `
     select o.id from ${subscriptionsOf(condition)} due
      cross join lateral (select id from webhook_subscription s where s.id = due.id and ${isOff('s')} offset 0) s
      cross join lateral (
        select id from delivery where subscription_id = s.id and ${condition}
           and (leased_until is null or leased_until < atelier_now()) limit :limit) o`;
// As an array, the ids are looked up one by one, even with a plan from a time with few deliveries.
const sweepStatement = systemStatement({
  name: 'subscription.sweep_deliveries',
  parameters: { limit: 'int' },
  row: { id: 'uuid' },
  text: `with swept as (
     update delivery d
      set status = case when s.deleted_at is null then 'dead_lettered' else 'failed' end,
          error_class = case when s.deleted_at is null then 'subscription_off' else 'subscription_deleted' end,
          next_attempt_at = null, finished_at = atelier_now(),
          parked_at = case when s.deleted_at is not null then d.parked_at end
     from webhook_subscription s
    where s.id = d.subscription_id and d.status in (${openDelivery})
      and d.id = any(array(select id from (${openOf(isFirst)} union all ${openOf(isWaiting)}
        union all ${openOf(isHeld)}) o limit :limit))
     returning d.id, d.status, ${parkedColumns.map((name) => `d.${name}`).join(', ')}),
   ended as (select * from swept where status = 'dead_lettered'),
   ${countParked}
   select id from swept`,
});

/** Ends open deliveries of subscriptions that are off or deleted, of all tenants, `limit` at most. @returns how many */
export const sweepDisabled = async (database: Database, limit: number): Promise<number> =>
  (await sqlOn(database.pool).rows(sweepStatement, { limit })).length;

const endAll = statement({
  name: 'subscription.end_deliveries',
  parameters: { subscriptionId: 'uuid' },
  row: { id: 'uuid' },
  text: `update delivery
      set status = 'failed', error_class = 'subscription_deleted', next_attempt_at = null,
        finished_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and ${some(statesBefore('failed'))}
      and status in (${statesBefore('failed')})
      and exists (select from webhook_subscription s where s.id = subscription_id and ${subscriptionIs('s', 'deleted')})
   returning id`,
});

const forgetSkipped = statement({
  name: 'subscription.forget_skipped',
  parameters: { subscriptionId: 'uuid' },
  text: `delete from skipped_events where organization_id = :organizationId and environment = :environment
    and subscription_id = :subscriptionId`,
});

/**
 * Fails the open deliveries and dead letters of a deleted subscription for good.
 * @param scope of the transaction that deleted the subscription
 * @param subscriptionId canonical uuid
 */
export async function endDeliveries(scope: Scope, subscriptionId: string): Promise<void> {
  await forgetDeliveryBlocks(scope, subscriptionId);
  await endSome(scope, subscriptionId, endAll);
  await scope.rows(forgetAttempts, { subscriptionId });
  await scope.rows(forgetSkipped, { subscriptionId });
  await wakeRetries(scope, subscriptionId);
}

const lockSubscription = statement({
  name: 'subscription.lock_to_end',
  parameters: { subscriptionId: 'uuid' },
  row: { id: 'uuid' },
  text: `select id from webhook_subscription where organization_id = :organizationId and environment = :environment
    and id = :subscriptionId for update`,
});

/** How long the outbox works on one subscription before other entries follow. */
const maxWorkMs = 8_000;

/**
 * Ends the remaining deliveries of a subscription that was turned off or deleted, which may be more than its
 * transaction could end. A no-op if it is active again.
 */
export async function endOpenDeliveries(scope: Scope, subscriptionId: string): Promise<void> {
  for (const end = performance.now() + maxWorkMs; ; ) {
    const isLast = await scope.transaction(async (tx) => {
      await tx.rows(lockSubscription, { subscriptionId });
      const ended = [await tx.rows(parkOpen, { subscriptionId }), await tx.rows(endAll, { subscriptionId })];
      const isDone = ended.every(({ length }) => length < batchSize);
      const isLate = performance.now() > end;
      if (isDone) await wakeRetries(tx, subscriptionId);
      else if (isLate) await tx.rows(endRest, { subscriptionId, correlationId: tx.correlationId });
      return isDone || isLate;
    });
    if (isLast) return;
  }
}
