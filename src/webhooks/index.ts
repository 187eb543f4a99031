// What other parts use of webhooks: they publish events, alone or in a statement of theirs, and have subscriptions of their own kind.

export type { FilterEvaluator, Filtered, FilterOutcome } from './addressing/filters.ts';
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
} from './deliveries/publish-event.ts';
export { hostWaitMs, limitedHost, takeHostRate } from './dispatch/host-rate.ts';
export { isRecorded, ownTransaction, recordEvents } from './events/recording.ts';
export type { WebhookServices } from './part.ts';
export { deleteSubscription } from './subscriptions/change-subscription.ts';
export { createSubscription, defaultConcurrency, type SubscriptionServices } from './subscriptions/subscriptions.ts';
