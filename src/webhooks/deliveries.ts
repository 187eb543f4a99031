import type { Sealer } from '../platform/crypto.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { deliveryIds, webhookIds } from './core/ids.ts';
import { type DeliveryEntry, type DeliveryRow, entryColumns, entryOf, loadSubscription } from './delivery-entry.ts';
import { deliveryNotFound, webhookNotFound } from './errors.ts';
import { type EventCatalog, integrationPayloadOf, payloadOf } from './payload.ts';
import { eventIdOf } from './publish-event.ts';
import { sealedColumn } from './subscription-secrets.ts';

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
  /** The body of its requests. */
  requestBody: string;
  /** The latest hundred, oldest first. */
  attemptLog: Attempt[];
}

const findLive = statement<{ id: string }>(
  'subscription.is_live',
  `select id from webhook_subscription
    where organization_id = $1 and environment = $2 and id = $3 and deleted_at is null`,
);

/** @param id in either form @returns the canonical uuid @throws AppError not_found */
export async function findSubscriptionId(scope: Scope, id: string): Promise<string> {
  const uuid = webhookIds.parse(id);
  const found = uuid && (await scope.one(findLive, uuid));
  if (!found) throw webhookNotFound(id);
  return found.id;
}

interface BodyRow {
  facts: unknown;
  eventCreatedAt: Date;
  /** The subscription's integration. */
  integration: string | null;
  sealedSecret: string;
}

const findOne = statement<DeliveryRow & BodyRow>(
  'delivery.by_id',
  `select ${entryColumns}, e.facts, e.created_at as "eventCreatedAt", s.integration, s.sealed_secret as "sealedSecret"
     from delivery d join event e on e.id = ${eventIdOf('d')} join webhook_subscription s on s.id = d.subscription_id
    where d.organization_id = $1 and d.environment = $2 and d.subscription_id = $3 and d.id = $4`,
);

const findOwn = statement<{ id: string }>(
  'delivery.is_of',
  'select id from delivery where organization_id = $1 and environment = $2 and subscription_id = $3 and id = $4',
);

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
  const found = uuid && (await scope.one(findOwn, subscriptionId, uuid));
  if (!found) throw deliveryNotFound(delivery);
  return { subscriptionId, deliveryId: found.id };
}

const findAttempts = statement<Attempt>(
  'delivery.attempts',
  `select * from (
     select number, started_at as "startedAt", duration_ms as "durationMs", status_code as "statusCode",
            response_body as "responseBody", response_body_truncated as "responseBodyTruncated",
            error_class as "errorClass"
       from delivery_attempt where organization_id = $1 and environment = $2 and delivery_id = $3
      order by number desc limit 100) latest
   order by number`,
);

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
    ? await Promise.all([scope.one(findOne, subscription.id, uuid), scope.rows(findAttempts, uuid)])
    : [];
  if (!found || !attemptLog) throw deliveryNotFound(deliveryId);
  const { facts, eventCreatedAt, integration, sealedSecret, ...row } = found;
  const event = { id: row.eventId, type: row.eventType, facts, createdAt: eventCreatedAt };
  const secret = () => sealer.open(sealedSecret, sealedColumn('sealed_secret', subscription.id, scope.tenant));
  const requestBody =
    integration === null
      ? payloadOf(events, event)
      : integrationPayloadOf(events, event, { integration, secret: secret() });
  return { ...entryOf(row, subscription), requestBody, attemptLog };
}
