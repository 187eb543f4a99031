import { defineFailPoints } from '../platform/parts/fail-points.ts';

export const failPoint = defineFailPoints(
  // A page of a calendar is stored, and the next one, which may have been requested, is not.
  'calendar.page_stored',
  // A calendar was read; the previous busy times are not removed yet.
  'calendar.synced',
  // An event was written to a calendar, and that is not recorded yet.
  'calendar.entry_written',
  // The entries that a connected calendar lacks are due, and the outbox has its entry still.
  'calendar.entries_due',
  // A change of a booking is committed, and its workflow does not know of it.
  'booking.committed',
  // The workflow knows, and the outbox has its entry still.
  'booking.followed',
  // An attempt at a mail is counted; then the mail is sent; then that is recorded.
  'booking.mail_begun',
  'booking.mail_sent',
  'booking.mail_recorded',
);
