// What other parts use of webhooks: they publish events, alone or in a statement of theirs, and have subscriptions of their own kind.

export { deleteSubscription } from './change-subscription.ts';
export { hostWaitMs, limitedHost, takeHostRate } from './host-rate.ts';
export type { WebhookServices } from './part.ts';
export {
  deliveriesChannel,
  isAwaited,
  listens,
  newDeliveries,
  newWorkflowEvents,
  publishEvent,
  publishEvents,
  publishEventsSql,
  wakeDeliveries,
} from './publish-event.ts';
export { createSubscription, defaultConcurrency, type SubscriptionServices } from './subscriptions.ts';
