import { findIana } from 'windows-iana';
import { z } from 'zod';
import { findTimezone } from '../../../platform/core/timezone.ts';
import { dayMs } from '../../core/calendar-date.ts';
import type { Interval } from '../../core/intervals.ts';
import { ZoneClock } from '../../core/zone-clock.ts';
import { timeOfDays, timeOfInstants } from './event-times.ts';
import type { ListedEvent } from './ports.ts';

const time = z.object({ dateTime: z.string(), timeZone: z.string() });

/** https://learn.microsoft.com/en-us/graph/api/resources/event */
export const eventSchema = z.object({
  id: z.string().min(1).max(1_024),
  '@removed': z.unknown().optional(),
  type: z.string().nullish(),
  seriesMasterId: z.string().max(1_024).nullish(),
  showAs: z.string().nullish(),
  isCancelled: z.boolean().nullish(),
  isAllDay: z.boolean().nullish(),
  responseStatus: z.object({ response: z.string().nullish() }).nullish(),
  originalStartTimeZone: z.string().nullish(),
  transactionId: z.string().nullish(),
  start: time.nullish(),
  end: time.nullish(),
});
export type MicrosoftEvent = z.infer<typeof eventSchema>;

/** What an occurrence has of its series, where it does not say otherwise. */
export type Series = Pick<
  MicrosoftEvent,
  'showAs' | 'isCancelled' | 'isAllDay' | 'responseStatus' | 'originalStartTimeZone'
>;

/** A zone as Outlook names it, of Windows mostly; undefined for an unknown one. */
const zoneOf = (name: string | null | undefined): string | undefined =>
  name ? (findTimezone(name) ?? findIana(name)[0]) : undefined;

const freeWords = ['free', 'workingElsewhere'];

/** Times arrive in UTC, as requested. */
function instant({ dateTime, timeZone }: z.infer<typeof time>): number {
  const wall = Date.parse(`${dateTime.slice(0, 19)}Z`);
  const zone = zoneOf(timeZone);
  if (zone === undefined || zone === 'UTC' || timeZone === 'UTC' || !Number.isFinite(wall)) return wall;
  return new ZoneClock(zone, { startsAt: wall - 2 * dayMs, endsAt: wall + 2 * dayMs }).momentOf(wall);
}

function timeOf(event: MicrosoftEvent, isAllDay: boolean, zone: string): Interval | null {
  const { start, end } = event;
  if (!start || !end) return null;
  if (isAllDay) return timeOfDays(start.dateTime, end.dateTime, zone);
  const [startsAt, endsAt] = [instant(start), instant(end)];
  if (!Number.isFinite(startsAt) || !Number.isFinite(endsAt)) return null;
  return timeOfInstants(new Date(startsAt).toISOString(), new Date(endsAt).toISOString());
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;

/**
 * @param series of an occurrence, which has its times alone
 * @param timezone for whole days, where the event does not say of which zone
 */
export function readEvent(event: MicrosoftEvent, series: Series | undefined, timezone: string): ListedEvent {
  const { id } = event;
  const bookingId = uuidPattern.exec(event.transactionId ?? '')?.[0] ?? null;
  const said = <Name extends keyof Series>(name: Name) => event[name] ?? series?.[name];
  const isGone = event['@removed'] !== undefined || said('isCancelled') === true;
  // A series that repeats is listed itself, under its own id.
  if (isGone) return { id, time: null, blocks: false, bookingId, seriesId: null };
  const zone = zoneOf(said('originalStartTimeZone')) ?? timezone;
  const at = timeOf(event, said('isAllDay') === true, zone);
  const isFree = freeWords.includes(said('showAs') ?? 'busy') || said('responseStatus')?.response === 'declined';
  // The series itself represents its first occurrence, which is listed too.
  return { id, time: at, blocks: at !== null && !isFree && event.type !== 'seriesMaster', bookingId, seriesId: null };
}
