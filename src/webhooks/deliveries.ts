import type { Page, PageRequest } from '../platform/page.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { type DeliveryStatus, isReplayable } from './core/delivery-status.ts';
import { deliveryIds, webhookIds } from './core/ids.ts';
import { deliveryNotFound, webhookNotFound } from './errors.ts';

/** A delivery in the log: its state and its last attempt. */
export interface DeliveryEntry {
  id: string;
  eventId: string;
  eventType: string;
  status: DeliveryStatus;
  statusCode: number | null;
  responseBody: string | null;
  responseBodyTruncated: boolean;
  durationMs: number | null;
  /** All attempts, those before replays included. */
  attempts: number;
  nextAttemptAt: Date | null;
  errorClass: string | null;
  replayable: boolean;
  createdAt: Date;
}

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
  /** The latest hundred, oldest first. */
  attemptLog: Attempt[];
}

type DeliveryRow = Omit<DeliveryEntry, 'replayable'>;

const entryOf = (row: DeliveryRow): DeliveryEntry => ({ ...row, replayable: isReplayable(row.status) });

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

const ofSubscription = `from delivery d join event e on e.id = d.event_id
   where d.organization_id = $1 and d.environment = $2 and d.subscription_id = $3`;
const filtered = `${ofSubscription} and ($4::varchar is null or d.status = $4) and ($5::varchar is null or e.type = $5)`;
const columns = `d.id, d.event_id as "eventId", e.type as "eventType", d.status, d.status_code as "statusCode",
  d.response_body as "responseBody", d.response_body_truncated as "responseBodyTruncated",
  d.duration_ms as "durationMs", d.attempts, d.next_attempt_at as "nextAttemptAt", d.error_class as "errorClass",
  d.created_at as "createdAt"`;

const listPage = statement<DeliveryRow>(
  'delivery.list',
  `select ${columns} ${filtered} order by d.created_at desc, d.id desc limit $6 offset $7`,
);
const countAll = statement<{ count: number }>('delivery.count', `select count(*)::int as count ${filtered}`);

export interface DeliveryFilter {
  status?: DeliveryStatus | undefined;
  eventType?: string | undefined;
}

/** Of one subscription, newest first. @param id in either form @throws AppError not_found */
export async function listDeliveries(
  scope: Scope,
  id: string,
  { status, eventType, limit, offset }: DeliveryFilter & PageRequest,
): Promise<Page<DeliveryEntry>> {
  const of = [await findSubscriptionId(scope, id), status ?? null, eventType ?? null];
  const [rows, counted] = await Promise.all([scope.rows(listPage, ...of, limit, offset), scope.one(countAll, ...of)]);
  return { items: rows.map(entryOf), total: counted!.count, limit, offset };
}

const findOne = statement<DeliveryRow>('delivery.by_id', `select ${columns} ${ofSubscription} and d.id = $4`);

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

/** Both ids in either form. @throws AppError not_found, of the subscription or of the delivery */
export async function getDelivery(scope: Scope, subscriptionId: string, deliveryId: string): Promise<DeliveryDetail> {
  const of = await findSubscriptionId(scope, subscriptionId);
  const uuid = deliveryIds.parse(deliveryId);
  const [found, attemptLog] = uuid
    ? await Promise.all([scope.one(findOne, of, uuid), scope.rows(findAttempts, uuid)])
    : [];
  if (!found || !attemptLog) throw deliveryNotFound(deliveryId);
  return { ...entryOf(found), attemptLog };
}
