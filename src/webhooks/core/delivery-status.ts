import { defineStates } from '../../platform/core/states.ts';

/**
 * The state of one event on its way to one subscription. A dead letter becomes delivered when its webhook was turned off
 * while an attempt was under way that then succeeded.
 */
export const deliveryStates = defineStates(
  { table: 'delivery', column: 'status' },
  {
    pending: {
      meaning: 'It waits for its first attempt, also after a replay.',
      initial: true,
      to: ['delivered', 'retrying', 'dead_lettered', 'failed'],
    },
    retrying: {
      meaning: 'An attempt failed and another one is to come.',
      to: ['delivered', 'retrying', 'dead_lettered', 'failed'],
    },
    dead_lettered: {
      meaning: 'No more attempts are made, and it can be replayed.',
      to: ['pending', 'delivered', 'failed'],
    },
    delivered: { meaning: 'The receiver answered with a 2xx status.', to: [] },
    failed: { meaning: 'Its webhook was deleted or an operator discarded it, and it cannot be replayed.', to: [] },
  },
);

export const deliveryStatuses = deliveryStates.all;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

/** Whether attempts are still to come. */
export const isOpen = (status: DeliveryStatus): boolean => status === 'pending' || status === 'retrying';

export const isReplayable = (status: DeliveryStatus): boolean => deliveryStates.canMove(status, 'pending');

/** For SQL: the states in which attempts are still to come. */
export const openDelivery = deliveryStates.sql(...deliveryStatuses.filter(isOpen));

/** Whether few deliveries are in this state, so that it has an index of its own. Most first attempts end in `delivered`. */
const isUnusual = (status: DeliveryStatus): boolean => status !== 'pending' && status !== 'delivered';

/** For SQL: the same states. */
export const unusualDelivery = deliveryStates.sql(...deliveryStatuses.filter(isUnusual));
