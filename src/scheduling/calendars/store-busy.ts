import { createHash } from 'node:crypto';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import type { Interval } from '../core/intervals.ts';
import { longMs } from './busy.ts';
import type { ListedEvent } from './clients/ports.ts';

/** Ids of providers are long, and compared for equality alone. */
export const eventKeyOf = (eventId: string): string => {
  const hex = createHash('sha256').update(eventId).digest('hex').slice(0, 32);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
};

/** The key of the busy time that stands for the events of a calendar that has too many to be read. */
export const unreadEventsKey = eventKeyOf('more events than are read');

/** An INSERT of busy times of `:calendarId` in its `:generation`. @param from with `busyColumns` */
export const putGiven = (from: string) => `
   insert into calendar_busy (organization_id, environment, calendar_id, generation, event_key, starts_at, ends_at, is_long)
   select :organizationId, :environment, :calendarId, :generation, event_key, starts_at, ends_at, is_long from ${from}
   on conflict (calendar_id, generation, event_key)
   do update set starts_at = excluded.starts_at, ends_at = excluded.ends_at, is_long = excluded.is_long`;

const put = statement({
  name: 'calendar.put_busy',
  parameters: {
    calendarId: 'uuid',
    generation: 'int',
    keys: 'uuid[]',
    starts: 'timestamptz[]',
    ends: 'timestamptz[]',
    areLong: 'boolean[]',
  },
  text: putGiven(`unnest(:keys, :starts, :ends, :areLong) as g (event_key, starts_at, ends_at, is_long)`),
});

const drop = statement({
  name: 'calendar.drop_busy',
  parameters: { calendarId: 'uuid', generation: 'int', others: 'uuid[]' },
  text: `delete from calendar_busy
    where organization_id = :organizationId and environment = :environment and calendar_id = :calendarId
      and generation = :generation
      and event_key = any(:others)`,
});

/** The part of a time that lies within a window; undefined when none does. */
function clip({ startsAt, endsAt }: Interval, window: Interval): Interval | undefined {
  const clipped = { startsAt: Math.max(startsAt, window.startsAt), endsAt: Math.min(endsAt, window.endsAt) };
  return clipped.startsAt < clipped.endsAt ? clipped : undefined;
}

/** The last word on each event: pages may name one twice. */
export const lastOfEach = (events: readonly ListedEvent[]): ListedEvent[] => [
  ...new Map(events.map((event) => [event.id, event])).values(),
];

interface Busy extends Interval {
  /** The key of the event. */
  key: string;
}

/** The events that block within a window, and the keys of those that do not. */
export function splitBusy(events: readonly ListedEvent[], window: Interval): { blocking: Busy[]; others: string[] } {
  const blocking: Busy[] = [];
  const others: string[] = [];
  for (const { id, time, blocks } of events) {
    const within = blocks && time ? clip(time, window) : undefined;
    if (within) blocking.push({ key: eventKeyOf(id), ...within });
    else others.push(eventKeyOf(id));
  }
  return { blocking, others };
}

/** As statements take them, one array for each column. */
export const busyColumns = (busy: readonly Busy[]) => ({
  keys: busy.map(({ key }) => key),
  starts: busy.map(({ startsAt }) => new Date(startsAt)),
  ends: busy.map(({ endsAt }) => new Date(endsAt)),
  areLong: busy.map(({ startsAt, endsAt }) => endsAt - startsAt > longMs),
});

/**
 * Stores the times that events block, and deletes times that they no longer block.
 * @param events each once, without our own
 */
export async function storeBusy(
  tx: Transaction,
  calendarId: string,
  generation: number,
  window: Interval,
  events: readonly ListedEvent[],
): Promise<void> {
  const { blocking, others } = splitBusy(events, window);
  if (others.length > 0) await tx.rows(drop, { calendarId, generation, others });
  if (blocking.length > 0) await tx.rows(put, { calendarId, generation, ...busyColumns(blocking) });
}

const blockAll = statement({
  name: 'calendar.block_all',
  parameters: { calendarId: 'uuid', syncId: 'uuid', eventKey: 'uuid', startsAt: 'timestamptz', endsAt: 'timestamptz' },
  text: `insert into calendar_busy (organization_id, environment, calendar_id, generation, event_key, starts_at, ends_at,
       is_long)
   select organization_id, environment, id, generation, :eventKey, :startsAt, :endsAt, true from calendar
    where organization_id = :organizationId and environment = :environment and id = :calendarId and sync_id = :syncId
      for no key update
   on conflict (calendar_id, generation, event_key)
   do update set starts_at = excluded.starts_at, ends_at = excluded.ends_at`,
});

/**
 * Makes a whole window busy: which of its times the unread events of the calendar occupy is not known. It ends with the
 * next changes that are applied, and with the next reading of everything.
 * @param window longer than two days
 */
export async function blockWindow(
  scope: Scope,
  { id: calendarId, syncId }: { id: string; syncId: string },
  { startsAt, endsAt }: Interval,
): Promise<void> {
  const window = { startsAt: new Date(startsAt), endsAt: new Date(endsAt) };
  await scope.rows(blockAll, { calendarId, syncId, eventKey: unreadEventsKey, ...window });
}

const earlier = statement({
  name: 'calendar.drop_earlier',
  parameters: { calendarId: 'uuid' },
  text: `delete from calendar_busy b using calendar c
    where b.organization_id = :organizationId and b.environment = :environment and b.calendar_id = :calendarId
      and c.id = b.calendar_id
      and b.generation < c.generation`,
});

/** Removes the generations before the one that is read. */
export const dropEarlier = async (scope: Scope, calendarId: string): Promise<void> =>
  void (await scope.rows(earlier, { calendarId }));

const unread = statement({
  name: 'calendar.drop_unread',
  parameters: { calendarId: 'uuid' },
  text: `delete from calendar_busy b using calendar c
    where b.organization_id = :organizationId and b.environment = :environment and b.calendar_id = :calendarId
      and c.id = b.calendar_id
      and b.generation <> c.generation`,
});

/** Removes all generations except the one that is read. */
export const dropUnread = async (tx: Transaction, calendarId: string): Promise<void> =>
  void (await tx.rows(unread, { calendarId }));
