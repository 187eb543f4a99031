import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { readBusy } from '../calendars/busy.ts';
import { holding } from '../core/booking-status.ts';
import type { Interval } from '../core/intervals.ts';
import type { Booked, Occupied } from '../core/occupied.ts';
import type { Reads } from '../core/reads.ts';
import type { Bookable } from './calendar-rules.ts';

/** What of the time of one host is to be read. */
interface Wanted {
  bookable: Pick<Bookable, 'hostId' | 'eventTypeId' | 'hasCalendars'>;
  reads: Reads;
}

interface Row {
  /** The position of the requested host, from 1 on. */
  n: number;
  startAt: Date;
  endAt: Date;
  holdStartAt: Date;
  holdEndAt: Date;
}

const ofTenant = `organization_id = :organizationId and environment = :environment and status in (${holding})`;
const columns = 'start_at as "startAt", end_at as "endAt", hold_start_at as "holdStartAt", hold_end_at as "holdEndAt"';

// Joins row by row: PostgreSQL would otherwise choose a join by its current statistics.
const each = (arrays: string, names: string, select: string) =>
  `select w.n::int as n, b.* from unnest(${arrays}) with ordinality as w (${names}, n) cross join lateral (${select} offset 0) b`;

// A booking lasts a day at most, and so does each of its buffers: whether its hold can reach into a time follows from its
// start, which the index has.
const lasts = "interval '2 days'";
const leads = "interval '1 day'";

const rowColumns = {
  n: 'int',
  startAt: 'timestamptz',
  endAt: 'timestamptz',
  holdStartAt: 'timestamptz',
  holdEndAt: 'timestamptz',
} as const;

// In the order of the index of a host's bookings, and compared as its rows are: while the table is new, the planner
// considers any index equally good, and a connection keeps its plans.
const findBookings = statement({
  name: 'booking.occupied',
  parameters: { hosts: 'uuid[]', begins: 'timestamptz[]', ends: 'timestamptz[]', except: 'uuid?' },
  row: rowColumns,
  text: each(
    ':hosts, :begins, :ends',
    'host_id, begins, ends',
    `select ${columns} from booking
      where ${ofTenant} and (host_id, start_at) > (w.host_id, w.begins - ${lasts})
        and (host_id, start_at) < (w.host_id, w.ends + ${leads})
        and hold_end_at > w.begins and hold_start_at < w.ends and id is distinct from :except
      order by host_id, start_at`,
  ),
});

const findNeighbours = statement({
  name: 'booking.neighbours',
  parameters: { hosts: 'uuid[]', begins: 'timestamptz[]', ends: 'timestamptz[]', neighbours: 'int[]', except: 'uuid?' },
  row: rowColumns,
  text: each(
    ':hosts, :begins, :ends, :neighbours',
    'host_id, begins, ends, neighbours',
    `(select ${columns} from booking
       where ${ofTenant} and host_id = w.host_id and start_at <= w.begins and id is distinct from :except
       order by start_at desc limit w.neighbours)
     union all
     (select ${columns} from booking
       where ${ofTenant} and host_id = w.host_id and start_at >= w.ends and id is distinct from :except
       order by start_at limit w.neighbours)`,
  ),
});

const findCounted = statement({
  name: 'booking.counted',
  parameters: { eventTypeIds: 'uuid[]', begins: 'timestamptz[]', ends: 'timestamptz[]', except: 'uuid?' },
  row: { n: 'int', startAt: 'timestamptz' },
  text: each(
    ':eventTypeIds, :begins, :ends',
    'event_type_id, begins, ends',
    `select start_at as "startAt" from booking
      where ${ofTenant} and event_type_id = w.event_type_id and start_at >= w.begins and start_at < w.ends
        and id is distinct from :except`,
  ),
});

const toBooked = (row: Row): Booked => ({
  startsAt: row.startAt.getTime(),
  endsAt: row.endAt.getTime(),
  holdStartsAt: row.holdStartAt.getTime(),
  holdEndsAt: row.holdEndAt.getTime(),
});

/** The items by the position of their requested host. */
function byWanted<Item extends { n: number }>(wanted: readonly unknown[], items: readonly Item[]): Item[][] {
  const groups: Item[][] = wanted.map(() => []);
  for (const item of items) groups[item.n - 1]!.push(item);
  return groups;
}

const starts = (times: readonly Interval[]) => times.map(({ startsAt }) => new Date(startsAt));
const ends = (times: readonly Interval[]) => times.map(({ endsAt }) => new Date(endsAt));

const nothing: Interval = { startsAt: 0, endsAt: 0 };

/**
 * The occupied times of hosts, as far as decisions need them: for each requested one, in their order.
 * @param except the booking that is being moved
 */
export async function readAllOccupied(
  scope: Scope,
  wanted: readonly Wanted[],
  except: string | null = null,
): Promise<Occupied[]> {
  const hosts = wanted.map(({ bookable }) => bookable.hostId);
  const times = wanted.map(({ reads }) => reads.bookings);
  const rows = await scope.rows(findBookings, { hosts, begins: starts(times), ends: ends(times), except });
  const neighbours = wanted.map(({ reads }) => reads.neighbours);
  if (neighbours.some((many) => many > 0)) {
    rows.push(
      ...(await scope.rows(findNeighbours, { hosts, begins: starts(times), ends: ends(times), neighbours, except })),
    );
  }
  const counting = wanted.map(({ reads }) => reads.counted ?? nothing);
  const counted = wanted.some(({ reads }) => reads.counted)
    ? await scope.rows(findCounted, {
        eventTypeIds: wanted.map(({ bookable }) => bookable.eventTypeId),
        begins: starts(counting),
        ends: ends(counting),
        except,
      })
    : [];
  const busyTimes = wanted.map(({ bookable, reads }) => (bookable.hasCalendars ? reads.busy : nothing));
  const busy = await readBusy(scope, hosts, busyTimes);
  const [booked, startsOf] = [byWanted(wanted, rows), byWanted(wanted, counted)];
  return wanted.map((_, index) => ({
    bookings: booked[index]!.map(toBooked),
    counted: startsOf[index]!.map(({ startAt }) => startAt.getTime()),
    busy: busy[index]!,
  }));
}

/** The same for one. */
export const readOccupied = async (
  scope: Scope,
  bookable: Wanted['bookable'],
  reads: Reads,
  except: string | null = null,
): Promise<Occupied> => (await readAllOccupied(scope, [{ bookable, reads }], except))[0]!;
