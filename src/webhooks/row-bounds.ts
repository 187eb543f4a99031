import type { RowBounds } from '../platform/database/row-bound.ts';

const purge = { with: 'webhook_subscription', column: 'subscription_id' } as const;
const withWebhook = {
  removedWith: { table: 'webhook_subscription', by: ['deleted_subscription.remove'] },
  purge,
};

/** How the rows of webhooks, their events and deliveries are bounded. */
export const webhookRowBounds: RowBounds = {
  webhook_subscription: {
    max: { plan: 'webhooks' },
    retention: { by: 'remove deleted webhooks', after: 'its deletion and the last of its deliveries' },
  },
  delivery: {
    max: { plan: 'waitingDeliveries' },
    retention: { by: 'remove deliveries after their retention', after: 'the days of the plan from its end' },
    purge,
  },
  delivery_attempt: {
    removedWith: { table: 'delivery', by: ['retention.deliveries'] },
    purge: { with: 'delivery', column: 'delivery_id' },
  },
  delivery_block_count: withWebhook,
  delivery_block: withWebhook,
  delivery_change: {
    ...withWebhook,
    retention: { by: 'count deliveries in blocks', after: 'it was added to the count of its block' },
  },
  attempt_hour: { max: { rows: 720, of: 'webhook_subscription' }, ...withWebhook },
  attempt_minute: { max: { rows: 60, of: 'webhook_subscription' }, ...withWebhook },
  retry_release: { max: { rows: 1, of: 'webhook_subscription' }, ...withWebhook },
  skipped_events: { max: { rows: 1, of: 'webhook_subscription' }, ...withWebhook },
  recovery: {
    ...withWebhook,
    retention: { by: 'remove old recoveries', after: '91 days' },
  },
  webhook_host: { retention: { by: 'remove hosts without attempts', after: 'a day without attempts' } },
  event_fan_out: { max: { rows: 1, of: 'event' } },
  event_addressing: { max: { rows: 1, of: 'event' } },
  event: {
    retention: {
      by: 'remove deliveries after their retention',
      after: 'the time in which a delivery of it can be made and kept',
    },
  },
  event_recording: { max: { rows: 1, of: 'environment' } },
  transaction_clock: { retention: { by: 'note the time of transactions', after: 'seven days' } },
  delivery_backlog: { max: { rows: 1, of: 'environment' } },
};
