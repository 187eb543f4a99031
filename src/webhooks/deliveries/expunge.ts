import type { Database } from '../../platform/database/database.ts';
import { Scope, type Transaction } from '../../platform/database/scope.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Environment } from '../../platform/tenant.ts';
import { type DeliveryStatus, isOpen, openDelivery } from '../core/delivery-status.ts';
import { webhookIds } from '../core/ids.ts';
import { deliveryNotFound } from '../errors.ts';
import { failPoint } from '../fail-points.ts';
import { eventIdOf } from './publish-event.ts';

/*
 * The content of a delivery is its receiver's answers and the body of its event, which other deliveries may still need.
 * The request removes the answers and marks the event: from then on no delivery of it is created, replayed or resent.
 * The same transaction removes the body, or, while another delivery of the event has attempts to come, a sweep does so
 * later. Transactions that create deliveries of an event share a lock on it, and this one takes it exclusively: the
 * second one sees the result of the first. Deliveries are locked before their events.
 */

const lockDelivery = statement({
  name: 'delivery.lock_to_expunge',
  parameters: { subscriptionId: 'uuid', deliveryId: 'uuid' },
  row: { status: typed<DeliveryStatus>('text'), eventId: 'uuid', isExpunged: 'boolean' },
  text: `select d.status, ${eventIdOf('d')} as "eventId", d.content_expunged_at is not null as "isExpunged" from delivery d
    where d.organization_id = :organizationId and d.environment = :environment
      and d.subscription_id = :subscriptionId and d.id = :deliveryId for update`,
});

const removeAnswers = statement({
  name: 'delivery.expunge',
  parameters: { deliveryId: 'uuid' },
  text: `with of_attempts as (
     update delivery_attempt set response_body = null, response_body_truncated = false
      where organization_id = :organizationId and environment = :environment and delivery_id = :deliveryId)
   update delivery
      set response_body = null, response_body_truncated = false, content_expunged_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and id = :deliveryId`,
});

const markEvent = statement({
  name: 'event.request_expunge',
  parameters: { eventId: 'uuid' },
  text: `update event set expunge_requested_at = coalesce(expunge_requested_at, atelier_now())
    where organization_id = :organizationId and environment = :environment and id = :eventId`,
});

/** For SQL: whether deliveries of an event are still to be created, in a transaction that ends that. */
const isAddressed = (organizationId: string, environment: string, eventId: string) =>
  `(${['event_fan_out', 'event_addressing']
    .map(
      (table) => `exists (select from ${table} a
         where a.organization_id = ${organizationId} and a.environment = ${environment} and a.event_id = ${eventId})`,
    )
    .join(' or ')})`;

// By the webhooks of the tenant: there is no index of deliveries by event alone.
const removeBody = statement({
  name: 'event.expunge',
  parameters: { eventId: 'uuid' },
  row: { isExpunged: 'boolean' },
  text: `with open as materialized (
     (select d.id from webhook_subscription s
       cross join lateral (
         select id from delivery where subscription_id = s.id and event_id = :eventId and resent_event_id is null
            and status in (${openDelivery}) offset 0) d
       where s.organization_id = :organizationId and s.environment = :environment limit 1)
     union all
     (select id from delivery where resent_event_id = :eventId and status in (${openDelivery}) limit 1)),
   needed as materialized (
     select (select id from open limit 1) as by_delivery,
            exists (select from open)
              or ${isAddressed(':organizationId', ':environment', ':eventId')} as still)
   update event e
      set facts = case when needed.still then e.facts else 'null' end, expunge_waits_for = needed.by_delivery,
          content_expunged_at = case when not needed.still then atelier_now() end
     from needed
    where e.organization_id = :organizationId and e.environment = :environment and e.id = :eventId
      and e.expunge_requested_at is not null and e.content_expunged_at is null
   returning e.content_expunged_at is not null as "isExpunged"`,
});

/**
 * Removes the answers of a delivery and the body of its event for good; the log of its attempts stays. Ids are uuids. It
 * can be repeated.
 * @throws AppError not_found; conflict while attempts are to come
 */
export async function expungeDelivery(scope: Scope, subscriptionId: string, deliveryId: string): Promise<void> {
  await scope.transaction(async (tx: Transaction) => {
    const found = await tx.one(lockDelivery, { subscriptionId, deliveryId });
    if (!found) throw deliveryNotFound(deliveryId);
    const { status, eventId } = found;
    if (isOpen(status)) {
      throw new AppError('conflict', 'The content can be removed when no attempts are to come.', { status });
    }
    if (found.isExpunged) return;
    await tx.rows(removeAnswers, { deliveryId });
    await tx.rows(markEvent, { eventId });
    await tx.one(removeBody, { eventId });
    const facts = { webhookId: webhookIds.format(subscriptionId) };
    await tx.audit({ action: 'delivery.expunge', subjectId: deliveryId, facts });
  });
  failPoint('delivery.expunged');
}

const findMarked = systemStatement({
  name: 'event.to_expunge',
  parameters: { after: 'uuid', limit: 'int' },
  row: { id: 'uuid', organizationId: 'uuid', environment: typed<Environment>('text'), isFree: 'boolean' },
  text: `select e.id, e.organization_id as "organizationId", e.environment,
          not exists (select from delivery d where d.id = e.expunge_waits_for and d.status in (${openDelivery}))
            and not ${isAddressed('e.organization_id', 'e.environment', 'e.id')} as "isFree"
     from event e
    where e.expunge_requested_at is not null and e.content_expunged_at is null and e.id > :after
    order by e.id limit :limit`,
});

const noId = '00000000-0000-0000-0000-000000000000';
/** Events that one look reads. */
const perLook = 1_000;

/**
 * Returns a function that removes the bodies of marked events that no delivery needs any more, of all tenants. Each
 * call reads the next thousand, and after the last begins again. It returns the number of removed bodies.
 */
export function expungeSweep(database: Database): () => Promise<number> {
  let after = noId;
  return async () => {
    const marked = await sqlOn(database.pool).rows(findMarked, { after, limit: perLook });
    after = marked.length < perLook ? noId : marked.at(-1)!.id;
    let removed = 0;
    for (const { id, isFree, ...tenant } of marked) {
      if (!isFree) continue;
      const done = await new Scope(database, tenant, newId()).one(removeBody, { eventId: id });
      if (done?.isExpunged) removed++;
    }
    return removed;
  };
}
