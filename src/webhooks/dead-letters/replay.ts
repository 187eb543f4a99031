import type { IdempotencyClaim, Once } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import type { DeliveryStatus } from '../core/delivery-status.ts';
import { subscriptionIs } from '../core/subscription-state.ts';
import { deliveriesChannel, eventIdOf, sendableEvent } from '../deliveries/publish-event.ts';
import { contentExpunged, deliveryNotFound, webhookNotFound } from '../errors.ts';
import { failPoint } from '../fail-points.ts';
import { beginRetries } from '../retries/retry-release.ts';

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

// A new schedule of attempts. The workflow of the dead letter is signalled later: see dead-letter-workflows.ts.
export const renewed = (
  ignoresBreaker: string,
) => `status = 'pending', schedule_attempts = 0, next_attempt_at = atelier_now(), finished_at = null,
        leased_until = null, is_held = false, ignores_breaker = ${ignoresBreaker}`;

// Locks the subscription before the delivery, so that turning it off happens before or after the replay, never between.
const replayStatement = statement({
  name: 'delivery.replay',
  parameters: { deliveryId: 'uuid', ignoresBreaker: 'boolean', byWorkflow: 'boolean' },
  row: { id: 'uuid', attempts: 'int', subscriptionId: 'uuid' },
  text: `with listening as (
     select s.id from webhook_subscription s
      where s.organization_id = :organizationId and s.environment = :environment and ${subscriptionIs('s', 'active')}
        and s.id = (select subscription_id from delivery where organization_id = :organizationId
          and environment = :environment and id = :deliveryId)
        for share),
   sendable as materialized (
     select d.id from listening
      cross join lateral (
        select id, event_id, resent_event_id from delivery
         where organization_id = :organizationId and environment = :environment and id = :deliveryId
           and status = 'dead_lettered' for update) d
      cross join lateral ${sendableEvent(eventIdOf('d'))} e),
   renewed as (
     update delivery d set ${renewed(':ignoresBreaker')}, parked_at = case when :byWorkflow then null
       else d.parked_at end
       from listening cross join sendable
      where d.organization_id = :organizationId and d.environment = :environment and d.id = :deliveryId
        and d.status = 'dead_lettered'
        and d.subscription_id = listening.id
     returning d.id, d.attempts, d.subscription_id)
   select id, attempts, subscription_id as "subscriptionId", pg_notify('${deliveriesChannel}', '') from renewed`,
});

const findDelivery = statement({
  name: 'delivery.replayable',
  parameters: { deliveryId: 'uuid', subscriptionId: 'uuid' },
  row: { status: typed<DeliveryStatus>('text'), isActive: 'boolean', isExpunged: 'boolean' },
  text: `select d.status, s.is_active as "isActive",
          (select e.expunge_requested_at is not null from event e where e.id = ${eventIdOf('d')}) as "isExpunged"
     from delivery d join webhook_subscription s on s.id = d.subscription_id and s.deleted_at is null
    where d.organization_id = :organizationId and d.environment = :environment and d.id = :deliveryId
      and d.subscription_id = :subscriptionId`,
});

export interface RenewOptions {
  /** Whether its first attempt ignores an open breaker. */
  ignoresBreaker?: boolean;
  /** Whether its workflow makes the request, and therefore needs no signal. */
  byWorkflow?: boolean;
}

/**
 * Gives a dead letter a new schedule of attempts.
 * @returns undefined when it is no dead letter, its subscription is turned off, or its content was removed
 */
export async function renewDeadLetter(
  tx: Transaction,
  deliveryId: string,
  { ignoresBreaker = false, byWorkflow = false }: RenewOptions = {},
): Promise<RenewedDelivery | undefined> {
  const renewed = await tx.one(replayStatement, { deliveryId, ignoresBreaker, byWorkflow });
  if (renewed && renewed.attempts > 0) await beginRetries(tx, [renewed.subscriptionId]);
  return renewed;
}

/** Why a delivery was not renewed. */
async function refusal(scope: Scope, subscriptionId: string, deliveryId: string): Promise<AppError> {
  const found = await scope.one(findDelivery, { deliveryId, subscriptionId });
  if (!found) return deliveryNotFound(deliveryId);
  const { status, isActive, isExpunged } = found;
  if (isExpunged) return contentExpunged();
  return isActive
    ? new AppError('conflict', 'Only a dead-lettered delivery can be replayed.', { status })
    : subscriptionDisabled();
}

/**
 * Replays a dead letter. Ids are uuids.
 * @throws AppError not_found; conflict unless it is a dead letter with its content, of a subscription that is turned on
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

export const subscriptionDisabled = () => new AppError('conflict', 'The webhook is turned off.');

const findSubscription = statement({
  name: 'subscription.is_active',
  parameters: { subscriptionId: 'uuid' },
  row: { isActive: 'boolean' },
  text: `select is_active as "isActive" from webhook_subscription
    where organization_id = :organizationId and environment = :environment and id = :subscriptionId
      and deleted_at is null for share`,
});

/** @throws AppError not_found, conflict when it is turned off */
export async function requireActive(scope: Scope, subscriptionId: string): Promise<void> {
  const found = await scope.one(findSubscription, { subscriptionId });
  if (!found) throw webhookNotFound(subscriptionId);
  if (!found.isActive) throw subscriptionDisabled();
}
