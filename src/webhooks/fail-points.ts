import { defineFailPoints } from '../platform/fail-points.ts';

export const failPoint = defineFailPoints(
  'delivery.leased',
  'delivery.sent',
  'delivery.recorded',
  'delivery.followed',
  'delivery.replayed',
  'delivery.discarded',
  'delivery.recovered',
  'retry.claimed',
  'retry.sent',
  'retry.recorded',
  'subscription.changed',
  'subscription.deleted',
);
