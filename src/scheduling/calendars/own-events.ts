import type { Scope, Transaction } from '../../platform/scope.ts';
import { statement } from '../../platform/sql.ts';
import { outsideChangeOf } from '../core/outside-change.ts';
import type { ListedEvent } from './ports.ts';

interface OwnRow {
  bookingId: string;
  eventId: string | null;
  isEntry: boolean;
  startsAt: Date;
  endsAt: Date;
  isRemoved: boolean;
  writtenAt: Date;
  isConfirmed: boolean;
  bookingStartsAt: Date;
  bookingEndsAt: Date;
}

// An event is ours when we recorded that we wrote it; or when it says so, and there is such a booking of this host whose
// entry is not recorded yet.
const find = statement<OwnRow>(
  'calendar.own_events',
  `select e.booking_id as "bookingId", e.event_id as "eventId", true as "isEntry", e.starts_at as "startsAt",
          e.ends_at as "endsAt", e.is_removed as "isRemoved", e.written_at as "writtenAt",
          b.status = 'confirmed' as "isConfirmed", b.start_at as "bookingStartsAt", b.end_at as "bookingEndsAt"
     from calendar_entry e join booking b on b.id = e.booking_id
    where e.organization_id = $1 and e.environment = $2 and e.calendar_id = $3 and e.event_id = any($4::text[])
   union all
   select b.id, null, false, b.start_at, b.end_at, false, clock_timestamp(), false, b.start_at, b.end_at
     from booking b join calendar c on c.id = $3 and c.host_id = b.host_id
    where b.organization_id = $1 and b.environment = $2 and b.id = any($5::uuid[])
      and not exists (select from calendar_entry e where e.booking_id = b.id and e.event_id = any($4::text[]))`,
);

const note = statement(
  'calendar.note_outside_change',
  `update calendar_entry e set outside_change = n.change
     from unnest($3::uuid[], $4::jsonb[]) as n (booking_id, change)
    where e.organization_id = $1 and e.environment = $2 and e.booking_id = n.booking_id`,
);

const markSeen = statement(
  'calendar.mark_seen',
  `update calendar_entry set seen_generation = $4
    where organization_id = $1 and environment = $2 and booking_id = any($3::uuid[])`,
);

const noteMissing = statement(
  'calendar.note_missing',
  `update calendar_entry e set outside_change = '{"kind": "removed"}'
     from booking b
    where e.organization_id = $1 and e.environment = $2 and e.calendar_id = $3 and b.id = e.booking_id
      and not e.is_removed and e.seen_generation is distinct from $4::int and e.written_at < $5::timestamptz
      and e.starts_at >= $6::timestamptz and e.ends_at <= $7::timestamptz
      and b.status = 'confirmed' and b.end_at > $5`,
);

const findOwn = (scope: Scope, calendarId: string, events: readonly ListedEvent[]): Promise<OwnRow[]> => {
  const tagged = events.flatMap(({ bookingId }) => bookingId ?? []);
  const ids = events.map(({ id }) => id);
  return scope.rows(find, calendarId, ids, tagged);
};

/** Whether `takeOwnEvents` would take any out. */
export const hasOwnEvents = async (
  scope: Scope,
  calendarId: string,
  events: readonly ListedEvent[],
): Promise<boolean> => events.length > 0 && (await findOwn(scope, calendarId, events)).length > 0;

/**
 * Takes our own events out of a list, and notes what others did to them: our own events never block, or each booking would
 * be in the way of its own move.
 * @param askedAt when the calendar was asked, in milliseconds
 * @param baseline the generation, where everything is read
 * @returns the events of others
 */
export async function takeOwnEvents(
  tx: Transaction,
  calendarId: string,
  events: readonly ListedEvent[],
  { askedAt, baseline }: { askedAt: number; baseline: number | null },
): Promise<ListedEvent[]> {
  if (events.length === 0) return [];
  const rows = await findOwn(tx, calendarId, events);
  if (rows.length === 0) return [...events];
  const byEvent = new Map(rows.flatMap((row) => (row.eventId === null ? [] : [[row.eventId, row] as const])));
  const byBooking = new Set(rows.map(({ bookingId }) => bookingId));
  const changes: [bookingId: string, change: string][] = [];
  const seen: string[] = [];
  const others: ListedEvent[] = [];
  for (const event of events) {
    const row = byEvent.get(event.id);
    if (!row) {
      // A copy of ours that somebody made carries its tag too, and is an event of theirs once ours is recorded.
      const isOurs = event.bookingId !== null && byBooking.has(event.bookingId) && !hasEntry(rows, event.bookingId);
      if (!isOurs) others.push(event);
      continue;
    }
    if (event.time) seen.push(row.bookingId);
    const written = {
      ...{ startsAt: row.startsAt.getTime(), endsAt: row.endsAt.getTime() },
      ...{ isRemoved: row.isRemoved, writtenAt: row.writtenAt.getTime() },
      booking: {
        ...{ startsAt: row.bookingStartsAt.getTime(), endsAt: row.bookingEndsAt.getTime() },
        isConfirmed: row.isConfirmed,
      },
    };
    const change = outsideChangeOf(written, event.time, askedAt);
    if (change) changes.push([row.bookingId, JSON.stringify(change)]);
  }
  if (changes.length > 0) {
    const [bookings, values] = [changes.map(([id]) => id), changes.map(([, change]) => change)];
    await tx.rows(note, bookings, values);
  }
  if (baseline !== null && seen.length > 0) await tx.rows(markSeen, seen, baseline);
  return others;
}

const hasEntry = (rows: readonly OwnRow[], bookingId: string) =>
  rows.some((row) => row.bookingId === bookingId && row.isEntry);

/** After a baseline: notes which of our events it did not find although they should be there. */
export async function noteMissingEvents(
  tx: Transaction,
  calendarId: string,
  { generation, beganAt, startsAt, endsAt }: { generation: number; beganAt: number; startsAt: number; endsAt: number },
): Promise<void> {
  await tx.rows(noteMissing, calendarId, generation, new Date(beganAt), new Date(startsAt), new Date(endsAt));
}
