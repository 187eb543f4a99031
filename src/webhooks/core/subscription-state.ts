import { defineStates } from '../../platform/core/states.ts';

/** The state of a webhook. It is derived from `is_active` and `deleted_at`. */
export const subscriptionStates = defineStates(undefined, {
  active: { meaning: 'Events are delivered to the webhook.', initial: true, to: ['off', 'deleted'] },
  off: {
    meaning: 'No deliveries are made, and those under way are dead-lettered.',
    initial: true,
    to: ['active', 'deleted'],
  },
  deleted: { meaning: 'It is gone from every read, and its open deliveries and dead letters have failed.', to: [] },
});
type SubscriptionState = (typeof subscriptionStates.all)[number];

/** Why the product itself turned a webhook off. */
export const disabledReasons = {
  gone: 'its receiver answered 410 Gone',
  failing: 'every delivery to it has failed for five days',
} as const;
export type DisabledReason = keyof typeof disabledReasons;

/** A condition in SQL: that the subscription of this alias is in a state. */
export const subscriptionIs = (alias: string, state: SubscriptionState): string =>
  ({
    active: `${alias}.is_active and ${alias}.deleted_at is null`,
    off: `not ${alias}.is_active and ${alias}.deleted_at is null`,
    deleted: `${alias}.deleted_at is not null`,
  })[state];
