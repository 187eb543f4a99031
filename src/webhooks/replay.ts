import { enqueueSql } from '../platform/enqueue.ts';
import { AppError } from '../platform/errors.ts';
import type { IdempotencyClaim, Once } from '../platform/idempotency.ts';
import { newId } from '../platform/ids.ts';
import type { Scope, Transaction } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { DeliveryStatus } from './core/delivery-status.ts';
import { subscriptionIs } from './core/subscription-state.ts';
import { deliveryNotFound, webhookNotFound } from './errors.ts';
import { failPoint } from './fail-points.ts';
import { deliveriesChannel, deliveryColumns, listens, newDelivery } from './publish-event.ts';

export interface ReplayServices {
  deliveries: { wake(): void };
}

export interface RenewedDelivery {
  id: string;
  attempts: number;
  subscriptionId: string;
}

export interface ReplayedDelivery {
  deliveryId: string;
  status: DeliveryStatus;
}

// A new schedule of attempts. A delivery whose first attempt was never made needs no workflow: the dispatcher makes it.
const renewed = `status = 'pending', schedule_attempts = 0, next_attempt_at = clock_timestamp(), finished_at = null,
        leased_until = null, held_since = null`;

const enqueueFollowing = (source: { correlation: string; due?: 'now' }) => `
     ${enqueueSql('delivery.follow', { subject: 'id', from: 'renewed', ...source })} where attempts > 0
     on conflict (kind, subject_id) do update
        set created_at = excluded.created_at, available_at = least(outbox.available_at, excluded.available_at)`;

// Locks the subscription before the delivery, so that turning it off happens before or after the replay, never between.
const replayStatement = statement<RenewedDelivery>(
  'delivery.replay',
  `with listening as (
     select s.id from webhook_subscription s
      where s.organization_id = $1 and s.environment = $2 and ${subscriptionIs('s', 'active')}
        and s.id = (select subscription_id from delivery where organization_id = $1 and environment = $2 and id = $3)
        for share),
   renewed as (
     update delivery d set ${renewed} from listening
      where d.organization_id = $1 and d.environment = $2 and d.id = $3 and d.status = 'dead_lettered'
        and d.subscription_id = listening.id
     returning d.id, d.attempts, d.subscription_id),
   enqueued as (${enqueueFollowing({ correlation: '$4' })})
   select id, attempts, subscription_id as "subscriptionId", pg_notify('${deliveriesChannel}', '') from renewed`,
  { enqueues: { 'delivery.follow': ({ id, attempts }) => (attempts > 0 ? { subjectId: id } : undefined) } },
);

const findDelivery = statement<{ status: DeliveryStatus; isActive: boolean }>(
  'delivery.replayable',
  `select d.status, s.is_active as "isActive"
     from delivery d join webhook_subscription s on s.id = d.subscription_id and s.deleted_at is null
    where d.organization_id = $1 and d.environment = $2 and d.id = $3 and d.subscription_id = $4`,
);

/**
 * Gives a dead letter a new schedule of attempts.
 * @returns undefined when it is no dead letter, or its subscription is turned off
 */
export const renewDeadLetter = (scope: Scope, deliveryId: string) =>
  scope.one(replayStatement, deliveryId, scope.correlationId);

/** Why a delivery was not renewed. */
async function refusal(scope: Scope, subscriptionId: string, deliveryId: string): Promise<AppError> {
  const found = await scope.one(findDelivery, deliveryId, subscriptionId);
  if (!found) return deliveryNotFound(deliveryId);
  const { status, isActive } = found;
  return isActive
    ? new AppError('conflict', 'Only a dead-lettered delivery can be replayed.', { status })
    : turnedOff();
}

/**
 * Replays a dead letter. Ids are uuids.
 * @throws AppError not_found; conflict unless it is a dead letter of a subscription that is turned on
 */
export async function replayDelivery(
  services: ReplayServices,
  scope: Scope,
  subscriptionId: string,
  deliveryId: string,
  claim?: IdempotencyClaim,
): Promise<Once<ReplayedDelivery>> {
  const replay = async (tx: Transaction): Promise<ReplayedDelivery> => {
    if (!(await renewDeadLetter(tx, deliveryId))) throw await refusal(tx, subscriptionId, deliveryId);
    return { deliveryId, status: 'pending' };
  };
  const once = await scope.transaction(replay, { claim });
  if (once.replayed) return once;
  failPoint('delivery.replayed');
  services.deliveries.wake();
  return once;
}

export const turnedOff = () => new AppError('conflict', 'The webhook is turned off.');

// Replays dead letters since then, and creates deliveries of events that the subscription missed while it was off.
const recoverStatement = statement<{ queued: number }>(
  'delivery.recover',
  `with renewed as (
     update delivery d set ${renewed}
      where d.organization_id = $1 and d.environment = $2 and d.subscription_id = $3 and d.status = 'dead_lettered'
        and d.created_at >= $4
     returning d.id, d.attempts),
   enqueued as (${enqueueFollowing({ correlation: '$5', due: 'now' })}),
   missed as (
     insert into delivery (${deliveryColumns})
     ${newDelivery('e', 's')} from webhook_subscription s
       join event e on e.organization_id = $1 and e.environment = $2 and e.created_at >= greatest($4, s.created_at)
        and ${listens('s', 'e')} and e.type <> 'test.webhook'
      where s.organization_id = $1 and s.environment = $2 and s.id = $3
     on conflict (subscription_id, event_id) do nothing
     returning id)
   select ((select count(*) from renewed) + (select count(*) from missed))::int as queued,
          pg_notify('${deliveriesChannel}', '')`,
  { enqueues: 'drain' },
);

const findSubscription = statement<{ isActive: boolean }>(
  'subscription.is_active',
  `select is_active as "isActive" from webhook_subscription
    where organization_id = $1 and environment = $2 and id = $3 and deleted_at is null for share`,
);

export interface Recovery {
  recoveryId: string;
  /** Deliveries that were replayed or created. */
  queued: number;
}

/** @throws AppError not_found, conflict when it is turned off */
export async function requireActive(scope: Scope, subscriptionId: string): Promise<void> {
  const found = await scope.one(findSubscription, subscriptionId);
  if (!found) throw webhookNotFound(subscriptionId);
  if (!found.isActive) throw turnedOff();
}

/**
 * Delivers what did not arrive since then: dead letters, and events that the subscription missed while it was off. Events
 * from before the subscription was created are not included.
 * @throws AppError not_found, conflict when it is turned off
 */
export async function recoverDeliveries(
  services: ReplayServices,
  scope: Scope,
  subscriptionId: string,
  since: Date,
  claim?: IdempotencyClaim,
): Promise<Once<Recovery>> {
  const recover = async (tx: Transaction): Promise<Recovery> => {
    await requireActive(tx, subscriptionId);
    const { queued } = (await tx.one(recoverStatement, subscriptionId, since, scope.correlationId))!;
    return { recoveryId: newId(), queued };
  };
  const once = await scope.transaction(recover, { claim });
  failPoint('delivery.recovered');
  if (!once.replayed) services.deliveries.wake();
  return once;
}
