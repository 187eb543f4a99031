import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import type { Bookable } from './calendar-rules.ts';
import { readBusy } from './calendars/busy.ts';
import { holding } from './core/booking-status.ts';
import type { Interval } from './core/intervals.ts';
import type { Reads } from './core/reads.ts';
import type { Booked, Taken } from './core/taken.ts';

interface Row {
  startAt: Date;
  endAt: Date;
  holdStartAt: Date;
  holdEndAt: Date;
}

const columns = 'start_at as "startAt", end_at as "endAt", hold_start_at as "holdStartAt", hold_end_at as "holdEndAt"';
const ofHost = `from booking
  where organization_id = $1 and environment = $2 and host_id = $3 and status in (${holding})`;

// A booking lasts a day at most, and so does each of its buffers: whether its hold can reach into a time follows from its
// start, which the index has.
const lasts = "interval '2 days'";
const leads = "interval '1 day'";

const findBookings = statement<Row>(
  'booking.taken',
  `select ${columns} ${ofHost} and start_at > $4::timestamptz - ${lasts} and start_at < $5::timestamptz + ${leads}
      and id is distinct from $6::uuid`,
);

const findBefore = statement<Row>(
  'booking.before',
  `select ${columns} ${ofHost} and start_at <= $4::timestamptz - ${lasts} and id is distinct from $5::uuid
    order by start_at desc limit $6`,
);
const findAfter = statement<Row>(
  'booking.after',
  `select ${columns} ${ofHost} and start_at >= $4::timestamptz + ${leads} and id is distinct from $5::uuid
    order by start_at limit $6`,
);

const findCounted = statement<{ startAt: Date }>(
  'booking.counted',
  `select start_at as "startAt" from booking
    where organization_id = $1 and environment = $2 and event_type_id = $3 and status in (${holding})
      and start_at >= $4::timestamptz and start_at < $5::timestamptz and id is distinct from $6::uuid`,
);

const toBooked = (row: Row): Booked => ({
  ...{ startsAt: row.startAt.getTime(), endsAt: row.endAt.getTime() },
  ...{ holdStartsAt: row.holdStartAt.getTime(), holdEndsAt: row.holdEndAt.getTime() },
});

const datesOf = ({ startsAt, endsAt }: Interval) => [new Date(startsAt), new Date(endsAt)] as const;

/**
 * What takes the time of a host, as far as a decision needs it.
 * @param except the booking that is being moved
 */
export async function readTaken(
  scope: Scope,
  { hostId, eventTypeId, hasCalendars }: Pick<Bookable, 'hostId' | 'eventTypeId' | 'hasCalendars'>,
  { bookings, neighbours, counted, busy: busyWithin }: Reads,
  except: string | null = null,
): Promise<Taken> {
  const [from, to] = datesOf(bookings);
  const rows = await scope.rows(findBookings, hostId, from, to, except);
  if (neighbours > 0) {
    rows.push(...(await scope.rows(findBefore, hostId, from, except, neighbours)));
    rows.push(...(await scope.rows(findAfter, hostId, to, except, neighbours)));
  }
  const starts = counted ? await scope.rows(findCounted, eventTypeId, ...datesOf(counted), except) : [];
  const busy = hasCalendars ? await readBusy(scope, hostId, busyWithin) : [];
  return { bookings: rows.map(toBooked), counted: starts.map(({ startAt }) => startAt.getTime()), busy };
}
