import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Sealer } from '../../platform/security/crypto.ts';
import type { PayloadForm } from '../core/delivery-options.ts';
import type { EventCatalog } from '../core/event-catalog.ts';
import { deliveryIds, webhookIds } from '../core/ids.ts';
import { deliveryNotFound, webhookNotFound } from '../errors.ts';
import { sealedColumn } from '../subscriptions/subscription-secrets.ts';
import { type DeliveryEntry, deliveryRow, entryColumns, entryOf, loadSubscription } from './delivery-entry.ts';
import { integrationPayloadOf, payloadOf } from './payload.ts';
import { eventIdOf } from './publish-event.ts';

export interface Attempt {
  number: number;
  startedAt: Date;
  durationMs: number;
  statusCode: number | null;
  responseBody: string | null;
  responseBodyTruncated: boolean;
  errorClass: string | null;
}

export interface DeliveryDetail extends DeliveryEntry {
  /** The body of its requests; null when it was removed. */
  requestBody: string | null;
  /** The latest hundred, oldest first. */
  attemptLog: Attempt[];
}

const findLive = statement({
  name: 'subscription.is_live',
  parameters: { id: 'uuid' },
  row: { id: 'uuid' },
  text: `select id from webhook_subscription
    where organization_id = :organizationId and environment = :environment and id = :id and deleted_at is null`,
});

/** @param id in either form @returns the canonical uuid @throws AppError not_found */
export async function findSubscriptionId(scope: Scope, id: string): Promise<string> {
  const uuid = webhookIds.parse(id);
  const found = uuid && (await scope.one(findLive, { id: uuid }));
  if (!found) throw webhookNotFound(id);
  return found.id;
}

const findOne = statement({
  name: 'delivery.by_id',
  parameters: { subscriptionId: 'uuid', id: 'uuid' },
  row: {
    ...deliveryRow,
    facts: 'json',
    eventCreatedAt: 'timestamptz',
    /** The subscription's integration. */
    integration: 'text?',
    payload: typed<PayloadForm>('text'),
    sealedSecret: 'text',
  },
  text: `select ${entryColumns}, e.facts, e.created_at as "eventCreatedAt", s.integration, s.payload,
    s.sealed_secret as "sealedSecret"
     from delivery d join event e on e.id = ${eventIdOf('d')} join webhook_subscription s on s.id = d.subscription_id
    where d.organization_id = :organizationId and d.environment = :environment and d.subscription_id = :subscriptionId
      and d.id = :id`,
});

const findOwn = statement({
  name: 'delivery.is_of',
  parameters: { subscriptionId: 'uuid', id: 'uuid' },
  row: { id: 'uuid' },
  text: `select id from delivery where organization_id = :organizationId and environment = :environment
    and subscription_id = :subscriptionId and id = :id`,
});

/**
 * Both ids in either form.
 * @returns canonical uuids
 * @throws AppError not_found, of the subscription or of the delivery
 */
export async function findDeliveryId(
  scope: Scope,
  subscription: string,
  delivery: string,
): Promise<{ subscriptionId: string; deliveryId: string }> {
  const subscriptionId = await findSubscriptionId(scope, subscription);
  const uuid = deliveryIds.parse(delivery);
  const found = uuid && (await scope.one(findOwn, { subscriptionId, id: uuid }));
  if (!found) throw deliveryNotFound(delivery);
  return { subscriptionId, deliveryId: found.id };
}

const findAttempts = statement({
  name: 'delivery.attempts',
  parameters: { deliveryId: 'uuid' },
  row: {
    number: 'int',
    startedAt: 'timestamptz',
    durationMs: 'int',
    statusCode: 'int?',
    responseBody: 'text?',
    responseBodyTruncated: 'boolean',
    errorClass: 'text?',
  },
  text: `select * from (
     select number, started_at as "startedAt", duration_ms as "durationMs", status_code as "statusCode",
            response_body as "responseBody", response_body_truncated as "responseBodyTruncated",
            error_class as "errorClass"
       from delivery_attempt where organization_id = :organizationId and environment = :environment
         and delivery_id = :deliveryId
      order by number desc limit 100) latest
   order by number`,
});

/** Both ids in either form. @throws AppError not_found, of the subscription or of the delivery; SealError */
export async function getDelivery(
  { events, sealer }: { events: EventCatalog; sealer: Sealer },
  scope: Scope,
  subscriptionId: string,
  deliveryId: string,
): Promise<DeliveryDetail> {
  const subscription = await loadSubscription(scope, subscriptionId);
  const uuid = deliveryIds.parse(deliveryId);
  const [found, attemptLog] = uuid
    ? await Promise.all([
        scope.one(findOne, { subscriptionId: subscription.id, id: uuid }),
        scope.rows(findAttempts, { deliveryId: uuid }),
      ])
    : [];
  if (!found || !attemptLog) throw deliveryNotFound(deliveryId);
  const { facts, eventCreatedAt, integration, payload, sealedSecret, ...row } = found;
  const event = { id: row.eventId, type: row.eventType, facts, createdAt: eventCreatedAt };
  const secret = () => sealer.open(sealedSecret, sealedColumn('sealed_secret', subscription.id, scope.tenant));
  const requestBody =
    row.contentExpungedAt !== null
      ? null
      : integration === null
        ? payloadOf(events, event, payload)
        : integrationPayloadOf(events, event, { integration, secret: secret() });
  return { ...entryOf(row, subscription), requestBody, attemptLog };
}
