import { defineFailPoints } from '../platform/fail-points.ts';

export const failPoint = defineFailPoints(
  // A page of a calendar is stored, and the next one is not asked for yet.
  'calendar.page_stored',
  // A calendar was read; the busy times of before are not removed yet.
  'calendar.synced',
  // An event was written to a calendar, and that is not recorded yet.
  'calendar.entry_written',
);
