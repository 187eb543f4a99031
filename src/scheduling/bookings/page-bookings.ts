import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { AppError } from '../../platform/errors.ts';
import { readBookableOf } from '../availability/calendar-rules.ts';
import { Booking, type Question } from '../entities.ts';
import { hostName } from '../hosts.ts';
import { type BookingView, viewOf } from './booking-view.ts';
import { bookedWith } from './change-booking.ts';
import { findWeek, type PageWeek } from './page-week.ts';

/** A booking as its pages show it. */
export interface PageBooking extends BookingView {
  /** The name of the event type. */
  name: string;
  organization: string;
  host: string;
  hostTimezone: string;
  /** The location text of the event type, if the location has no address of its own. */
  place: string | null;
  questions: Question[];
}

const findAround = statement({
  name: 'booking.page',
  parameters: { bookingId: 'uuid' },
  row: {
    name: 'text',
    questions: typed<Question[]>('json'),
    organization: 'text',
    host: 'text',
    hostTimezone: 'text',
    place: 'text?',
  },
  text: `select t.name, t.questions, o.name as organization, ${hostName('h')} as host, h.timezone as "hostTimezone",
          (select coalesce(nullif(l->>'address', ''), nullif(l->>'number', '')) from json_array_elements(t.locations) l
            where l->>'type' = b.location->>'type' limit 1) as place
     from booking b
     join scheduling_event_type t on t.id = b.event_type_id
     join scheduling_host h on h.id = b.host_id
     join organization o on o.id = b.organization_id
    where b.organization_id = :organizationId and b.environment = :environment and b.id = :bookingId`,
});

async function readBooking(scope: Scope, bookingId: string): Promise<Booking> {
  const booking = await scope.read((em) => em.findOne(Booking, { id: bookingId }));
  if (!booking) throw new AppError('not_found', 'This page does not exist.');
  return booking;
}

/** @param bookingId its UUID. @throws AppError not_found */
export async function getPageBooking(scope: Scope, bookingId: string): Promise<PageBooking> {
  const booking = await readBooking(scope, bookingId);
  return { ...viewOf(booking, []), ...(await scope.one(findAround, { bookingId }))! };
}

/**
 * A week of times that a booking can be moved to, in a zone.
 * @param date the first day; the booking's own, or today, where it is none
 */
export async function findPageWeek(
  scope: Scope,
  bookingId: string,
  { date, timezone }: { date: string | undefined; timezone: string },
): Promise<PageWeek> {
  const booking = await readBooking(scope, bookingId);
  const { eventType, ...rest } = await readBookableOf(scope, booking);
  const bookable = { ...rest, eventType: { ...eventType, ...bookedWith(booking) } };
  return findWeek(scope, bookable, { date, near: booking.startAt, timezone }, booking);
}
