import { defineEntity, p } from '@mikro-orm/core';
import { tenantFilter } from '../../platform/database/database.ts';

const tenant = { organizationId: p.uuid(), environment: p.string().length(4) };

/** The end of a block, which is the position of a delivery; it begins after the one before. */
const block = {
  subscriptionId: p.uuid().primary(),
  endsAt: p.datetime().primary(),
  endsId: p.uuid().primary(),
};

/** About a thousand consecutive deliveries of a subscription: see delivery-blocks.ts. */
export const DeliveryBlock = defineEntity({
  name: 'DeliveryBlock',
  tableName: 'delivery_block',
  filters: { tenant: tenantFilter },
  properties: {
    ...block,
    ...tenant,
    /** Transactions up to this number may not know the block yet. Null until its own transaction has committed. */
    announcedBy: p.bigint().nullable(),
    isCounted: p.boolean(),
  },
  indexes: [{ name: 'delivery_block_uncounted_index', properties: ['subscriptionId'], where: 'not is_counted' }],
});

/** The numbers of deliveries of a block by event type and state, without the changes that are recorded beside it. */
export const DeliveryBlockCount = defineEntity({
  name: 'DeliveryBlockCount',
  tableName: 'delivery_block_count',
  filters: { tenant: tenantFilter },
  properties: {
    ...block,
    eventType: p.string().length(60).primary(),
    ...tenant,
    pending: p.integer(),
    retrying: p.integer(),
    deadLettered: p.integer(),
    delivered: p.integer(),
    failed: p.integer(),
  },
  indexes: [
    {
      name: 'delivery_block_empty_index',
      properties: ['subscriptionId'],
      where: 'pending = 0 and retrying = 0 and dead_lettered = 0 and delivered = 0 and failed = 0',
    },
  ],
});

/**
 * A delivery in a block that changed its state, was created or was removed. A trigger writes it, and a sweep adds it to
 * the counts.
 */
export const DeliveryChange = defineEntity({
  name: 'DeliveryChange',
  tableName: 'delivery_change',
  filters: { tenant: tenantFilter },
  properties: {
    id: p.uuid().primary(),
    ...tenant,
    subscriptionId: p.uuid(),
    endsAt: p.datetime(),
    endsId: p.uuid(),
    eventType: p.string().length(60),
    was: p.string().length(20).nullable(),
    becomes: p.string().length(20).nullable(),
  },
  indexes: [{ name: 'delivery_change_block_index', properties: ['subscriptionId', 'endsAt', 'endsId'] }],
});

export const countedDeliveries = [DeliveryBlock, DeliveryBlockCount, DeliveryChange];
