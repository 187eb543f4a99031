import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { isInPlace, outsideChangeOf } from '../core/outside-change.ts';
import type { ListedEvent } from './clients/ports.ts';

interface OwnRow {
  bookingId: string;
  eventId: string;
  startsAt: Date;
  endsAt: Date;
  isRemoved: boolean;
  writtenAt: Date;
  hasOutsideChange: boolean;
  isConfirmed: boolean;
  bookingStartsAt: Date;
  bookingEndsAt: Date;
}

// An event is ours only if a booking recorded its id. Copies of it, and the instances of a series that other people
// made of it, carry its tag too but belong to them.
const find = statement({
  name: 'calendar.own_events',
  parameters: { calendarId: 'uuid', eventIds: 'text[]' },
  row: {
    bookingId: 'uuid',
    eventId: 'text',
    startsAt: 'timestamptz',
    endsAt: 'timestamptz',
    isRemoved: 'boolean',
    writtenAt: 'timestamptz',
    hasOutsideChange: 'boolean',
    isConfirmed: 'boolean',
    bookingStartsAt: 'timestamptz',
    bookingEndsAt: 'timestamptz',
  },
  text: `select e.booking_id as "bookingId", e.event_id as "eventId", e.starts_at as "startsAt",
          e.ends_at as "endsAt", e.is_removed as "isRemoved", e.written_at as "writtenAt",
          e.outside_change is not null as "hasOutsideChange",
          b.status = 'confirmed' as "isConfirmed", b.start_at as "bookingStartsAt", b.end_at as "bookingEndsAt"
     from calendar_entry e join booking b on b.id = e.booking_id
    where e.organization_id = :organizationId and e.environment = :environment and e.calendar_id = :calendarId
      and e.event_id = any(:eventIds)`,
});

const note = statement({
  name: 'calendar.note_outside_change',
  parameters: { bookings: 'uuid[]', changes: 'jsonb[]' },
  text: `update calendar_entry e set outside_change = n.change
     from unnest(:bookings, :changes) as n (booking_id, change)
    where e.organization_id = :organizationId and e.environment = :environment and e.booking_id = n.booking_id`,
});

const forget = statement({
  name: 'calendar.forget_outside_change',
  parameters: { bookings: 'uuid[]' },
  text: `update calendar_entry set outside_change = null
    where organization_id = :organizationId and environment = :environment and booking_id = any(:bookings)`,
});

const markSeen = statement({
  name: 'calendar.mark_seen',
  parameters: { seen: 'uuid[]', baseline: 'int' },
  text: `update calendar_entry set seen_generation = :baseline
    where organization_id = :organizationId and environment = :environment and booking_id = any(:seen)`,
});

const noteMissing = statement({
  name: 'calendar.note_missing',
  parameters: {
    calendarId: 'uuid',
    generation: 'int',
    writtenAt: 'timestamptz',
    startsAt: 'timestamptz',
    endsAt: 'timestamptz',
  },
  text: `update calendar_entry e set outside_change = '{"kind": "removed"}'
     from booking b
    where e.organization_id = :organizationId and e.environment = :environment and e.calendar_id = :calendarId
      and b.id = e.booking_id
      and not e.is_removed and e.seen_generation is distinct from :generation and e.written_at < :writtenAt
      and e.starts_at >= :startsAt and e.ends_at <= :endsAt
      and b.status = 'confirmed' and b.end_at > :writtenAt`,
});

const findOwn = (scope: Scope, calendarId: string, events: readonly ListedEvent[]): Promise<OwnRow[]> =>
  scope.rows(find, {
    calendarId,
    eventIds: [...new Set(events.flatMap(({ id, seriesId }) => (seriesId ? [id, seriesId] : [id])))],
  });

/**
 * Whether `takeOwnEvents` may take any out. An event with our tag may be about to be recorded: only a transaction that holds
 * the calendar's row sees whether it is.
 */
export const mayHaveOwnEvents = async (
  scope: Scope,
  calendarId: string,
  events: readonly ListedEvent[],
): Promise<boolean> => {
  if (events.length === 0) return false;
  return events.some(({ bookingId }) => bookingId !== null) || (await findOwn(scope, calendarId, events)).length > 0;
};

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
  const byEvent = new Map(rows.map((row) => [row.eventId, row] as const));
  const changes: [bookingId: string, change: string][] = [];
  const undone: string[] = [];
  const seen: string[] = [];
  const others: ListedEvent[] = [];
  // If our event was turned into a series, some services list only its instances and report the event itself as
  // removed. It still exists.
  const repeated = new Set(events.flatMap(({ seriesId, time }) => (seriesId && time ? [seriesId] : [])));
  for (const { eventId, bookingId } of rows) if (repeated.has(eventId)) seen.push(bookingId);
  for (const event of events) {
    const row = byEvent.get(event.id);
    if (!row) {
      others.push(event);
      continue;
    }
    if (repeated.has(event.id)) continue;
    if (event.time) seen.push(row.bookingId);
    const written = {
      startsAt: row.startsAt.getTime(),
      endsAt: row.endsAt.getTime(),
      isRemoved: row.isRemoved,
      writtenAt: row.writtenAt.getTime(),
      booking: {
        startsAt: row.bookingStartsAt.getTime(),
        endsAt: row.bookingEndsAt.getTime(),
        isConfirmed: row.isConfirmed,
      },
    };
    const change = outsideChangeOf(written, event.time, askedAt);
    if (change) changes.push([row.bookingId, JSON.stringify(change)]);
    // What was changed and not settled yet, they changed back: a booking must not follow it now.
    else if (row.hasOutsideChange && event.time && isInPlace(written, event.time)) undone.push(row.bookingId);
  }
  if (changes.length > 0) {
    const [bookings, values] = [changes.map(([id]) => id), changes.map(([, change]) => change)];
    await tx.rows(note, { bookings, changes: values });
  }
  if (undone.length > 0) await tx.rows(forget, { bookings: undone });
  if (baseline !== null && seen.length > 0) await tx.rows(markSeen, { seen, baseline });
  return others;
}

/** After a baseline: notes which of our events it did not find although they should be there. */
export async function noteMissingEvents(
  tx: Transaction,
  calendarId: string,
  { generation, beganAt, startsAt, endsAt }: { generation: number; beganAt: number; startsAt: number; endsAt: number },
): Promise<void> {
  await tx.rows(noteMissing, {
    calendarId,
    generation,
    writtenAt: new Date(beganAt),
    startsAt: new Date(startsAt),
    endsAt: new Date(endsAt),
  });
}
