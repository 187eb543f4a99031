import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../platform/database/database.ts';
import type { Ordering, PayloadForm, SignatureKind } from './core/delivery-options.ts';
import { type DeliveryStatus, openDelivery, unusualDelivery } from './core/delivery-status.ts';
import type { DisabledReason } from './core/subscription-state.ts';

const tenant = { organizationId: p.uuid(), environment: p.string().length(4) };

/** A webhook: where a tenant's events are sent, and the state of that receiver. */
export const WebhookSubscription = defineEntity({
  name: 'WebhookSubscription',
  tableName: 'webhook_subscription',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    name: p.string().length(100),
    url: p.text(),
    /** Event types, or `*`. */
    events: p.json<string[]>(),
    /** The integration whose webhook it is: then its payloads are signed in the body. Null for all others. */
    integration: p.string().length(40).nullable(),
    isActive: p.boolean(),
    /** Why the product turned it off; null when its owner did. */
    disabledReason: p.string().length(20).$type<DisabledReason>().nullable(),
    disabledAt: p.datetime().nullable(),
    maxAttempts: p.integer(),
    /** Sealed JSON of the headers that its owner added, which may hold credentials. */
    sealedHeaders: p.text().nullable(),
    /** Attempts per minute at most. */
    rateLimit: p.integer().nullable(),
    /** Attempts in flight at most. */
    concurrency: p.integer(),
    /** Over `event`, the whole body. Null: all events of its types are delivered. */
    filter: p.text().nullable(),
    /** How often the filter failed since it was given. */
    filterErrors: p.integer().default(0),
    ordering: p.string().length(7).$type<Ordering>().default('none'),
    /** When the filter or the ordering was last changed. */
    rulesChangedAt: p.datetime().nullable(),
    payload: p.string().length(4).$type<PayloadForm>().default('full'),
    signature: p.string().length(7).$type<SignatureKind>().default('hmac'),
    /** The key that verifies signatures of the current private key; null with HMAC. */
    publicKey: p.string().length(60).nullable(),
    /** With Ed25519 the seeds of private keys replace the secrets. Null once it is deleted, and so are the others. */
    sealedSecret: p.text().nullable(),
    /** The secret before the last rotation, which signs too until it expires. */
    sealedPreviousSecret: p.text().nullable(),
    previousSecretExpiresAt: p.datetime().nullable(),
    /** The one before that, which signs until it expires too. */
    sealedOlderSecret: p.text().nullable(),
    olderSecretExpiresAt: p.datetime().nullable(),
    /** The breaker: see core/breaker.ts. */
    consecutiveFailures: p.integer(),
    nextProbeAt: p.datetime().nullable(),
    /** Since when every attempt has failed, and when the last one did. */
    failingSince: p.datetime().nullable(),
    lastFailedAt: p.datetime().nullable(),
    /** The result of the last failed attempt: `HTTP 503`, or a class of errors such as `timeout`. */
    lastFailure: p.string().length(50).nullable(),
    /** State of the rate limit: see core/admission.ts. */
    rateFreeAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
    /** Deliveries that ended before this time were removed: `recover` does not reach back further. */
    recoverableFrom: p.datetime().nullable(),
    /** When it was deleted. The row stays for the log of its deliveries. */
    deletedAt: p.datetime().nullable(),
  },
  indexes: [
    { name: 'webhook_subscription_tenant_index', properties: ['organizationId', 'environment', 'createdAt', 'id'] },
    {
      name: 'webhook_subscription_active_index',
      properties: ['organizationId', 'environment'],
      where: 'is_active and deleted_at is null',
    },
    { name: 'webhook_subscription_deleted_index', properties: ['deletedAt'], where: 'deleted_at is not null' },
  ],
});
export type WebhookSubscription = InferEntity<typeof WebhookSubscription>;

/** Something that happened, written in the transaction of its cause. */
export const Event = defineEntity({
  name: 'Event',
  tableName: 'event',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    type: p.string().length(60),
    /** Its subject. There is one event per subject and type; null for events that may repeat. */
    subjectId: p.uuid().nullable(),
    /** From which payload.ts renders the payload. */
    facts: p.json<Record<string, unknown>>().columnType('json'),
    correlationId: p.string().length(128),
    createdAt: p.datetime(),
    /** Whether it is a test or an example, for one webhook alone. */
    isTest: p.boolean().default(false),
    /** The number of its transaction, by which it is listed; null for events that are not listed. */
    transactionNumber: p.bigint().nullable(),
    /**
     * The time since when its body is to be removed: no delivery of it is created any more. See deliveries/expunge.ts.
     */
    expungeRequestedAt: p.datetime().nullable(),
    /** A delivery that still needs it. */
    expungeWaitsFor: p.uuid().nullable(),
    /** When `facts` were removed: they are JSON's `null` since. */
    contentExpungedAt: p.datetime().nullable(),
  },
  uniques: [{ properties: ['subjectId', 'type'] }],
  indexes: [
    {
      name: 'event_expunge_index',
      properties: ['id'],
      where: 'expunge_requested_at is not null and content_expunged_at is null',
    },
    { properties: ['organizationId', 'environment', 'createdAt', 'id'] },
    { name: 'event_correlation_index', properties: ['correlationId'] },
    {
      name: 'event_feed_index',
      properties: ['organizationId', 'environment', 'transactionNumber', 'id'],
      where: 'transaction_number is not null',
    },
    {
      name: 'event_feed_type_index',
      properties: ['organizationId', 'environment', 'type', 'transactionNumber', 'id'],
      where: 'transaction_number is not null',
    },
  ],
});
export type Event = InferEntity<typeof Event>;

/** One event on its way to one subscription. */
export const Delivery = defineEntity({
  name: 'Delivery',
  tableName: 'delivery',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    subscriptionId: p.uuid(),
    /** The event; for a resent delivery, its own id. */
    eventId: p.uuid(),
    /** The event of a resent delivery; null for the first one, which `recover` and the event itself make. */
    resentEventId: p.uuid().nullable(),
    /** The type of its event. */
    eventType: p.string().length(60),
    status: p.string().length(20).$type<DeliveryStatus>(),
    /** All attempts, over all replays. */
    attempts: p.integer(),
    /** Attempts since it was created or last replayed. */
    scheduleAttempts: p.integer(),
    /** When the next attempt is due; null when none is. */
    nextAttemptAt: p.datetime().nullable(),
    /** Until when the attempt belongs to the process that leased it. */
    leasedUntil: p.datetime().nullable(),
    /**
     * The subject of its event, see core/event-body.ts: deliveries of a webhook about the same subject are made one
     * after the other. Null if they need no order.
     */
    subject: p.text().nullable(),
    /** Whether it was found to come after another one about its subject: see dispatch/subject-order.ts. */
    isHeld: p.boolean().default(false),
    /** Whether its next attempt ignores an open breaker, because a caller waits for it. */
    ignoresBreaker: p.boolean().default(false),
    /** The status code of the last attempt. */
    statusCode: p.integer().nullable(),
    responseBody: p.text().nullable(),
    responseBodyTruncated: p.boolean(),
    durationMs: p.integer().nullable(),
    errorClass: p.string().length(40).nullable(),
    createdAt: p.datetime(),
    finishedAt: p.datetime().nullable(),
    /**
     * When its workflow was started as a dead letter's: `infinity` while it is, `-infinity` when it is to have none; null
     * otherwise.
     */
    parkedAt: p.datetime().nullable(),
    /** When the answers of its receiver were removed. */
    contentExpungedAt: p.datetime().nullable(),
  },
  uniques: [{ properties: ['subscriptionId', 'eventId'] }],
  indexes: [
    { properties: ['subscriptionId', 'createdAt', 'id'] },
    {
      name: 'delivery_list_index',
      properties: ['subscriptionId', 'eventType', 'status', 'createdAt', 'id'],
    },
    {
      name: 'delivery_block_end_index',
      properties: ['subscriptionId', 'createdAt', 'id'],
      where: 'get_byte(uuid_send(id), 15) = 0 and get_byte(uuid_send(id), 14) % 4 = 0',
    },
    {
      name: 'delivery_ready_index',
      properties: ['subscriptionId', 'createdAt'],
      where: "status = 'pending' and attempts = 0 and not is_held",
    },
    {
      name: 'delivery_next_index',
      properties: ['nextAttemptAt'],
      where: `status in (${openDelivery}) and attempts > 0 and not is_held`,
    },
    {
      name: 'delivery_exempt_index',
      properties: ['subscriptionId'],
      where: `ignores_breaker and status in (${openDelivery})`,
    },
    { name: 'delivery_lease_index', properties: ['subscriptionId', 'leasedUntil'], where: 'leased_until is not null' },
    { name: 'delivery_resent_index', properties: ['resentEventId'], where: 'resent_event_id is not null' },
    {
      name: 'delivery_unusual_index',
      properties: ['subscriptionId', 'status', 'createdAt', 'id'],
      where: `status in (${unusualDelivery})`,
    },
    {
      name: 'delivery_retry_index',
      properties: ['subscriptionId', 'nextAttemptAt'],
      where: `status in (${openDelivery}) and attempts > 0 and not is_held`,
    },
    {
      name: 'delivery_held_index',
      properties: ['subscriptionId', 'subject', 'id'],
      where: `is_held and status in (${openDelivery})`,
    },
    {
      name: 'delivery_subject_index',
      properties: ['subscriptionId', 'subject', 'id'],
      where: `subject is not null and status in (${openDelivery})`,
    },
    {
      name: 'delivery_unparked_index',
      properties: ['subscriptionId', 'createdAt', 'id'],
      where: "status = 'dead_lettered' and (parked_at is null or parked_at = 'infinity')",
    },
    {
      name: 'delivery_unparking_index',
      properties: ['id'],
      where: "status <> 'dead_lettered' and parked_at > '-infinity'",
    },
    { name: 'delivery_dead_index', properties: ['finishedAt', 'id'], where: "status = 'dead_lettered'" },
  ],
});
export type Delivery = InferEntity<typeof Delivery>;

/** The log of one attempt. Only its answer is ever changed, when it is removed. */
export const DeliveryAttempt = defineEntity({
  name: 'DeliveryAttempt',
  tableName: 'delivery_attempt',
  filters: { tenant: tenantFilter },
  properties: {
    deliveryId: p.uuid().primary(),
    /** 1, 2, 3 … over all replays. */
    number: p.integer().primary(),
    ...tenant,
    startedAt: p.datetime(),
    durationMs: p.integer(),
    statusCode: p.integer().nullable(),
    responseBody: p.text().nullable(),
    responseBodyTruncated: p.boolean(),
    errorClass: p.string().length(40).nullable(),
  },
});
export type DeliveryAttempt = InferEntity<typeof DeliveryAttempt>;

/** How attempts ended, without tests and examples: see dispatch/attempt-counts.ts. */
const counts = {
  status2xx: p.integer().fieldName('status_2xx'),
  status3xx: p.integer().fieldName('status_3xx'),
  status4xx: p.integer().fieldName('status_4xx'),
  status5xx: p.integer().fieldName('status_5xx'),
  noAnswer: p.integer(),
  deadLettered: p.integer(),
};

/** How the attempts of one webhook ended in one hour. Each hour of 30 days has a row, which the next 30 days take over. */
export const AttemptHour = defineEntity({
  name: 'AttemptHour',
  tableName: 'attempt_hour',
  filters: { tenant: tenantFilter },
  properties: {
    subscriptionId: p.uuid().primary(),
    /** The hours since 1970 in UTC, modulo 720. */
    slot: p.smallint().primary(),
    ...tenant,
    /** Its beginning. */
    hour: p.datetime(),
    /** All attempts, tests and examples too. */
    delivered: p.integer(),
    failed: p.integer(),
    status2xx: p.integer().fieldName('status_2xx').default(0),
    status3xx: p.integer().fieldName('status_3xx').default(0),
    status4xx: p.integer().fieldName('status_4xx').default(0),
    status5xx: p.integer().fieldName('status_5xx').default(0),
    noAnswer: p.integer().default(0),
    deadLettered: p.integer().default(0),
    latencies: p.array().columnType('int[]').$type<number[]>().defaultRaw("'{}'"),
  },
});
export type AttemptHour = InferEntity<typeof AttemptHour>;

/** The same of one minute. Each minute of an hour has a row, which the next hour takes over. */
export const AttemptMinute = defineEntity({
  name: 'AttemptMinute',
  tableName: 'attempt_minute',
  filters: { tenant: tenantFilter },
  properties: {
    subscriptionId: p.uuid().primary(),
    slot: p.smallint().primary(),
    ...tenant,
    /** Its beginning. */
    minute: p.datetime(),
    ...counts,
    /** How many durations each of `latencyBounds` has. */
    latencies: p.array().columnType('int[]').$type<number[]>(),
  },
});
export type AttemptMinute = InferEntity<typeof AttemptMinute>;

/** A webhook with waiting retries. Its workflow deletes the row when none waits any more. */
export const RetryRelease = defineEntity({
  name: 'RetryRelease',
  tableName: 'retry_release',
  filters: { tenant: tenantFilter },
  properties: {
    subscriptionId: p.uuid().primary(),
    ...tenant,
    /** The dispatchers make the retries that are due by then; the workflow moves it on. */
    releasedUntil: p.datetime(),
    /** When the workflow looks next. Long past if the workflow has ended. */
    looksAt: p.datetime(),
    /** Since when an operator lets nothing be sent to the webhook. */
    pausedAt: p.datetime().nullable(),
    createdAt: p.datetime(),
  },
  indexes: [{ properties: ['looksAt'] }],
});
export type RetryRelease = InferEntity<typeof RetryRelease>;

/** The rate of attempts to one host, by all organizations and processes together. */
export const WebhookHost = defineEntity({
  name: 'WebhookHost',
  tableName: 'webhook_host',
  properties: {
    host: p.string().length(255).primary(),
    /** State of the rate limit: see host-rate.ts. */
    freeAt: p.datetime(),
  },
});
export type WebhookHost = InferEntity<typeof WebhookHost>;
