import { defineFailPoints } from '../platform/parts/fail-points.ts';

export const failPoint = defineFailPoints(
  'integration.connected',
  // A page of events was read, and nothing is written; then it and the place after it are committed.
  'integration.polled',
  'integration.poll_saved',
  // The sender of events is proven, and nothing is written; then all is committed, and nothing acknowledged.
  'inbound.proven',
  'inbound.committed',
  // The data of an event were fetched, and are not published.
  'inbound.fetched',
);
