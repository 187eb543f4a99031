/**
 * A delivery's life. `failed` is for ever (the subscription is gone, the destination forbidden, an operator discarded
 * it); what is dead-lettered can be replayed and then begins anew.
 *
 *     pending ──> delivered                      ┌──── replay ────┐
 *        │  └───> retrying ──> delivered         v                │
 *        │           └───> dead_lettered      pending      dead_lettered ──> failed
 *        ├───> dead_lettered
 *        └───> failed  <─── retrying
 */
export const deliveryStatuses = ['pending', 'delivered', 'retrying', 'failed', 'dead_lettered'] as const;
export type DeliveryStatus = (typeof deliveryStatuses)[number];

const exits: Record<DeliveryStatus, readonly DeliveryStatus[]> = {
  pending: ['delivered', 'retrying', 'dead_lettered', 'failed'],
  retrying: ['delivered', 'retrying', 'dead_lettered', 'failed'],
  dead_lettered: ['pending', 'failed'],
  delivered: [],
  failed: [],
};

export const canBecome = (from: DeliveryStatus, to: DeliveryStatus): boolean => exits[from].includes(to);

/** From which a status can be reached: what an UPDATE names in its WHERE. */
export const statusesBefore = (to: DeliveryStatus): DeliveryStatus[] =>
  deliveryStatuses.filter((from) => canBecome(from, to));

/** Whether attempts are still to come. One that is open and that nobody works on was forgotten by a crash. */
export const isOpen = (status: DeliveryStatus): boolean => status === 'pending' || status === 'retrying';

export const isReplayable = (status: DeliveryStatus): boolean => canBecome(status, 'pending');
