import { defineEntity, type InferEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../platform/database.ts';
import { type DeliveryStatus, openDelivery } from './core/delivery-status.ts';
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
    sealedSecret: p.text(),
    /** The secret before the last rotation, which signs too until it expires. */
    sealedPreviousSecret: p.text().nullable(),
    previousSecretExpiresAt: p.datetime().nullable(),
    /** The breaker: see core/breaker.ts. */
    consecutiveFailures: p.integer(),
    nextProbeAt: p.datetime().nullable(),
    /** Since when every attempt has failed, and when the last one did. */
    failingSince: p.datetime().nullable(),
    lastFailedAt: p.datetime().nullable(),
    /** State of the rate limit: see core/admission.ts. */
    rateFreeAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
    /** When it was deleted. The row stays for the log of its deliveries. */
    deletedAt: p.datetime().nullable(),
  },
  indexes: [
    { name: 'webhook_subscription_tenant_index', properties: ['organizationId', 'environment', 'createdAt', 'id'] },
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
    /** What it is about. There is one event per subject and type; null for events that may repeat. */
    subjectId: p.uuid().nullable(),
    /** From which payload.ts renders the payload. */
    facts: p.json<Record<string, unknown>>(),
    correlationId: p.string().length(128),
    createdAt: p.datetime(),
  },
  uniques: [{ properties: ['subjectId', 'type'] }],
  indexes: [{ properties: ['organizationId', 'environment', 'createdAt', 'id'] }],
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
    eventId: p.uuid(),
    status: p.string().length(20).$type<DeliveryStatus>(),
    /** All attempts, over all replays. */
    attempts: p.integer(),
    /** Attempts since it was created or last replayed. */
    scheduleAttempts: p.integer(),
    /** When the next attempt is due; null when none is. */
    nextAttemptAt: p.datetime().nullable(),
    /** Until when the attempt belongs to the process that leased it. */
    leasedUntil: p.datetime().nullable(),
    /** Since when a due retry waits until its subscription has a free place; then the dispatcher makes it. */
    heldSince: p.datetime().nullable(),
    /** Of the last attempt. */
    statusCode: p.integer().nullable(),
    responseBody: p.text().nullable(),
    responseBodyTruncated: p.boolean(),
    durationMs: p.integer().nullable(),
    errorClass: p.string().length(40).nullable(),
    createdAt: p.datetime(),
    finishedAt: p.datetime().nullable(),
  },
  uniques: [{ properties: ['subscriptionId', 'eventId'] }],
  indexes: [
    { properties: ['subscriptionId', 'createdAt', 'id'] },
    {
      name: 'delivery_first_index',
      properties: ['subscriptionId', 'createdAt'],
      where: "status = 'pending' and attempts = 0",
    },
    {
      name: 'delivery_due_index',
      properties: ['nextAttemptAt'],
      where: `status in (${openDelivery}) and attempts > 0`,
    },
    {
      name: 'delivery_held_index',
      properties: ['subscriptionId', 'nextAttemptAt'],
      where: `held_since is not null and status in (${openDelivery})`,
    },
    { name: 'delivery_lease_index', properties: ['subscriptionId', 'leasedUntil'], where: 'leased_until is not null' },
    { name: 'delivery_dead_index', properties: ['finishedAt', 'id'], where: "status = 'dead_lettered'" },
  ],
});
export type Delivery = InferEntity<typeof Delivery>;

/** The log of one attempt. Never changed. */
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
