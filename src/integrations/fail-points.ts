import { defineFailPoints } from '../platform/fail-points.ts';

export const failPoint = defineFailPoints(
  'integration.connected',
  // The sender of events is proven, and nothing is written; then all is committed, and nothing acknowledged.
  'inbound.proven',
  'inbound.committed',
  // The data of an event were fetched, and are not published.
  'inbound.fetched',
);
