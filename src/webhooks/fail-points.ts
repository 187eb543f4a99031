import { defineFailPoints } from '../platform/parts/fail-points.ts';

export const failPoint = defineFailPoints(
  'event.fanned_out',
  'event.addressing',
  'event.filtered',
  'event.addressed',
  'delivery.leased',
  'delivery.sent',
  'delivery.recorded',
  'delivery.replayed',
  'delivery.discarded',
  'delivery.expunged',
  'delivery.recovered',
  'delivery.recovery_part',
  'retry.woken',
  'retry.sent',
  'retry.recorded',
  'retry.looked',
  'letter.parked',
  'subscription.changed',
  'subscription.deleted',
);
