import type { Foundation } from '../foundation.ts';
import { inBatches } from '../platform/database/batches.ts';
import type { Part } from '../platform/parts/part.ts';
import type { TenancyServices } from '../tenancy/index.ts';
import { EventAddressing } from './addressing/entities.ts';
import { EventFilters } from './addressing/filters.ts';
import type { DeliveryStatus } from './core/delivery-status.ts';
import { deliveryStates } from './core/delivery-status.ts';
import { deliveryIds, eventIds, recoveryIds, webhookIds } from './core/ids.ts';
import { subscriptionStates } from './core/subscription-state.ts';
import { webhooksDeclarations } from './declarations.ts';
import { countedDeliveries } from './deliveries/block-entities.ts';
import { sweepDeliveryBacklog } from './deliveries/delivery-backlog.ts';
import { sweepDeliveryBlocks } from './deliveries/delivery-blocks.ts';
import { expungeSweep } from './deliveries/expunge.ts';
import { DeliveryBacklog, EventFanOut, SkippedEvents } from './deliveries/fan-out-entities.ts';
import { addressingPayload, deliveriesChannel } from './deliveries/publish-event.ts';
import { continueRecovery } from './deliveries/recovery.ts';
import { RecoveryProgress } from './deliveries/recovery-entities.ts';
import { forgetOldDeliveries, forgetOldRecoveries, forgetUnusedHosts } from './deliveries/retention.ts';
import { type DeliveryPolicy, defaultDeliveryPolicy, scaled } from './dispatch/delivery-policy.ts';
import { forgottenSweep } from './dispatch/subject-order.ts';
import { DeliveryWakeup } from './dispatch/wakeup.ts';
import { endSubscriptions } from './end-tenant.ts';
import {
  AttemptHour,
  AttemptMinute,
  Delivery,
  DeliveryAttempt,
  Event,
  RetryRelease,
  WebhookHost,
  WebhookSubscription,
} from './entities.ts';
import { EventArrivals } from './events/arrivals.ts';
import { EventRecording, TransactionClock } from './events/feed-entities.ts';
import { sweepRecordings } from './events/recording.ts';
import { tickTransactionClock } from './events/transaction-clock.ts';
import { failPoint } from './fail-points.ts';
import { deliveryGauges } from './gauges.ts';
import { restartStalledRetries, wakeRetryRelease } from './retries/restart-stalled-retries.ts';
import { webhookRowBounds } from './row-bounds.ts';
import { webhookSettings } from './settings.ts';
import { forgetDeletedSubscriptions } from './subscriptions/deleted-subscriptions.ts';
import { endOpenDeliveries, sweepDisabled } from './subscriptions/disable-subscription.ts';
import { SubscribedTypes } from './subscriptions/subscribed-types.ts';

const hourMs = 3_600_000;

export interface WebhookServices {
  /** Wakes the dispatcher of this process, where it has one. */
  deliveries: DeliveryWakeup;
  /** Wakes what addresses events in this process, where it does. */
  addressing: DeliveryWakeup;
  deliveryPolicy: DeliveryPolicy;
  /** The requests of this process that wait for events. */
  eventArrivals: EventArrivals;
  /** For the feature that knows expressions. */
  eventFilters: EventFilters;
  /** For features whose providers must be polled or subscribed for events. */
  listening: SubscribedTypes;
  /** The word in the names of the signature headers of family A. */
  webhookBrand: string;
  /** Counts an attempt of a delivery by the status that followed. */
  countAttempt(status: DeliveryStatus): void;
}

/** Outbound webhooks: subscriptions, events and their deliveries. */
export const webhooks: Part<Foundation & TenancyServices, WebhookServices, typeof webhookSettings.shape> = {
  ...webhooksDeclarations,
  states: { 'A webhook': subscriptionStates, 'A delivery': deliveryStates },
  entities: [
    WebhookSubscription,
    Event,
    Delivery,
    DeliveryAttempt,
    AttemptHour,
    AttemptMinute,
    RetryRelease,
    WebhookHost,
    ...countedDeliveries,
    RecoveryProgress,
    EventFanOut,
    EventAddressing,
    DeliveryBacklog,
    SkippedEvents,
    EventRecording,
    TransactionClock,
  ],
  rowBounds: webhookRowBounds,
  settings: webhookSettings,
  ids: [webhookIds, eventIds, deliveryIds, recoveryIds],
  failPoints: failPoint.names,
  open({ env, database, log, notifications, metrics, tenantEnds }) {
    const listening = new SubscribedTypes();
    tenantEnds.on((scope) => endSubscriptions(listening, scope));
    const deliveries = new DeliveryWakeup();
    const addressing = new DeliveryWakeup();
    notifications.on(deliveriesChannel, (payload) => {
      deliveries.wake();
      if (payload === addressingPayload) addressing.wake();
    });
    const count = metrics.counter({
      name: 'atelier_delivery_attempts_total',
      help: 'Attempts of webhook deliveries that this process made, by the status that followed.',
      labelNames: ['status'],
    });
    return {
      deliveries,
      addressing,
      eventArrivals: new EventArrivals(database, log),
      eventFilters: new EventFilters(),
      listening,
      deliveryPolicy: {
        ...scaled(defaultDeliveryPolicy, env.DELIVERY_TIME_SCALE ?? 1),
        hostRate: env.WEBHOOK_HOST_RATE,
      },
      webhookBrand: env.WEBHOOK_HEADER_BRAND,
      countAttempt: (status) => count({ status }),
    };
  },
  outbox: (services) => ({
    'webhook.recover': (scope, recoveryId) => continueRecovery(services, scope, recoveryId),
    'webhook.end_deliveries': endOpenDeliveries,
    'webhook.wake': (scope, subscriptionId) => wakeRetryRelease(services, scope, subscriptionId),
  }),
  drain(services) {
    const restart = restartStalledRetries(services);
    return () => {
      services.deliveries.wake();
      return restart();
    };
  },
  sweeps: ({ database }) => [
    {
      name: 'end deliveries of webhooks that are off',
      everyMs: 60_000,
      run: () => inBatches((limit) => sweepDisabled(database, limit)),
    },
    { name: 'release deliveries that wait for no other', everyMs: 10_000, run: forgottenSweep(database) },
    { name: 'count deliveries in blocks', everyMs: 10_000, run: () => sweepDeliveryBlocks(database) },
    { name: 'remove bodies of events', everyMs: 1_000, run: expungeSweep(database) },
    { name: 'count deliveries that wait', everyMs: 10_000, run: () => sweepDeliveryBacklog(database) },
    { name: 'remove deliveries after their retention', everyMs: hourMs, run: () => forgetOldDeliveries(database) },
    {
      name: 'remove old recoveries',
      everyMs: hourMs,
      run: () => inBatches((limit) => forgetOldRecoveries(database, limit)),
    },
    {
      name: 'remove deleted webhooks',
      everyMs: hourMs,
      run: () => inBatches((limit) => forgetDeletedSubscriptions(database, limit)),
    },
    { name: 'record events that are used', everyMs: hourMs, run: () => sweepRecordings(database) },
    { name: 'note the time of transactions', everyMs: 600_000, run: () => tickTransactionClock(database) },
    {
      name: 'remove hosts without attempts',
      everyMs: 60_000,
      run: () => inBatches((limit) => forgetUnusedHosts(database, limit)),
    },
  ],
  gauges: ({ observer }) => deliveryGauges(observer),
};
