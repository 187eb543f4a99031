import type { FilterQuery } from '@mikro-orm/postgresql';
import type { Page, PageRequest } from '../../platform/database/page.ts';
import type { Scope } from '../../platform/database/scope.ts';
import type { BookingStatus, ListedStatus } from '../core/booking-status.ts';
import { type DayNumber, dayMs, dayNumber } from '../core/calendar-date.ts';
import { bookingIds, eventTypeIds, hostIds } from '../core/ids.ts';
import { endOfTime } from '../core/read-times.ts';
import { ZoneClock } from '../core/zone-clock.ts';
import { type EffectView, findEffects } from '../effects/enqueue-effects.ts';
import { type BookedLocation, Booking } from '../entities.ts';
import { bookingNotFound } from '../errors.ts';
import { defaultHost } from '../hosts.ts';
import type { BookingPages } from './booking-pages.ts';

export interface Attendee {
  name: string;
  email: string;
  phone: string | null;
  /** A name of the tz database. */
  timezone: string;
}

export interface BookingView {
  id: string;
  eventTypeId: string;
  hostId: string;
  status: BookingStatus;
  start: Date;
  end: Date;
  attendee: Attendee;
  location: BookedLocation | null;
  responses: Record<string, unknown>;
  metadata: Record<string, unknown>;
  rescheduleCount: number;
  previousStart: Date | null;
  previousEnd: Date | null;
  rescheduleReason: string | null;
  cancelledAt: Date | null;
  cancellationReason: string | null;
  /** The token of its public page; null where it has none. */
  token: string | null;
  /** Effects of the latest change. */
  effects: EffectView[];
  createdAt: Date;
  updatedAt: Date;
}

export const viewOf = (row: Booking, effects: EffectView[]): BookingView => ({
  id: row.id,
  eventTypeId: row.eventTypeId,
  hostId: row.hostId,
  status: row.status,
  start: row.startAt,
  end: row.endAt,
  attendee: {
    name: row.attendeeName,
    email: row.attendeeEmail,
    phone: row.attendeePhone ?? null,
    timezone: row.attendeeTimezone,
  },
  location: row.location ?? null,
  responses: row.responses,
  metadata: row.metadata,
  rescheduleCount: row.rescheduleCount,
  rescheduleReason: row.rescheduleReason ?? null,
  previousStart: row.previousStartAt ?? null,
  previousEnd: row.previousEndAt ?? null,
  cancelledAt: row.cancelledAt ?? null,
  cancellationReason: row.cancellationReason ?? null,
  token: row.token ?? null,
  effects,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
});

/** As it is, with its effects, which are read. */
export const withEffects = async (scope: Scope, row: Booking): Promise<BookingView> =>
  viewOf(row, (await findEffects(scope, [row.id])).get(row.id)!);

/** @param id in either form. @throws AppError not_found */
export async function getBooking(scope: Scope, id: string): Promise<BookingView> {
  const uuid = bookingIds.parse(id);
  const found = uuid && (await scope.read((em) => em.findOne(Booking, { id: uuid })));
  if (!found) throw bookingNotFound(id);
  return withEffects(scope, found);
}

interface BookingFilter {
  /** In either form. An unknown one has no bookings. */
  eventTypeId?: string | undefined;
  status?: ListedStatus | undefined;
  /** Days of the default host, `YYYY-MM-DD`, on which a booking starts; both included. */
  start?: string | undefined;
  end?: string | undefined;
}

/** The first moment of a day in a zone, and no later than the end of all bookings: PostgreSQL reads no later year. */
function beginningOf(day: DayNumber, timezone: string): Date {
  // No clock is further from UTC than a day.
  const clock = new ZoneClock(timezone, { startsAt: (day - 2) * dayMs, endsAt: (day + 2) * dayMs });
  return new Date(Math.min(clock.startOfDay(day), endOfTime));
}

/** By start, then by id. */
export async function listBookings(
  scope: Scope,
  { eventTypeId, status, start, end, limit, offset }: BookingFilter & PageRequest,
): Promise<Page<BookingView>> {
  const empty = { items: [], total: 0, limit, offset };
  const where: FilterQuery<Booking> = {};
  if (eventTypeId !== undefined) {
    const uuid = eventTypeIds.parse(eventTypeId);
    if (!uuid) return empty;
    where.eventTypeId = uuid;
  }
  if (status !== undefined) where.status = status as BookingStatus;
  if (start !== undefined || end !== undefined) {
    const { timezone } = await defaultHost(scope);
    where.startAt = {
      ...(start !== undefined && { $gte: beginningOf(dayNumber(start), timezone) }),
      ...(end !== undefined && { $lt: beginningOf(dayNumber(end) + 1, timezone) }),
    };
  }
  const orderBy = { startAt: 'asc', id: 'asc' } as const;
  const [rows, total] = await scope.read((em) => em.findAndCount(Booking, where, { orderBy, limit, offset }));
  const effects = await findEffects(
    scope,
    rows.map(({ id }) => id),
  );
  return { items: rows.map((row) => viewOf(row, effects.get(row.id)!)), total, limit, offset };
}

/** A booking, which both dialects write alike. Times are in UTC. */
export function bookingRecord(pages: BookingPages, booking: BookingView) {
  const { id, eventTypeId, status, attendee, location, responses, metadata, rescheduleCount } = booking;
  const time = (name: string, at: Date | null) => at && { [name]: at.toISOString() };
  return {
    id: bookingIds.format(id),
    eventTypeId: eventTypeIds.format(eventTypeId),
    hostId: hostIds.format(booking.hostId),
    status,
    start: booking.start.toISOString(),
    end: booking.end.toISOString(),
    attendee,
    location,
    ...pages.linksOf(booking.token),
    responses,
    metadata,
    rescheduleCount,
    ...time('previousStart', booking.previousStart),
    ...time('previousEnd', booking.previousEnd),
    ...(booking.rescheduleReason !== null && { rescheduleReason: booking.rescheduleReason }),
    ...time('cancelledAt', booking.cancelledAt),
    ...(booking.cancellationReason !== null && { cancellationReason: booking.cancellationReason }),
    effects: booking.effects.map(({ at, ...effect }) => ({ ...effect, at: at.toISOString() })),
    createdAt: booking.createdAt.toISOString(),
    updatedAt: booking.updatedAt.toISOString(),
  };
}
