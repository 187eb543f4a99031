import { defineFailPoints } from '../platform/parts/fail-points.ts';

export const failPoint = defineFailPoints(
  'integration.connected',
  // A page of events was read, and nothing is written; then the page and the position after it are committed.
  'integration.polled',
  'integration.poll_saved',
  // A page of missed events was read, and nothing is written; then its events and the place after it are committed.
  'integration.missed_read',
  'integration.missed_saved',
  // The sender of events is authenticated, and nothing is written; then everything is committed, and not yet
  // acknowledged.
  'inbound.proven',
  'inbound.committed',
  // The data of an event were fetched, and are not published.
  'inbound.fetched',
);
