import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { readBusy } from '../calendars/busy.ts';
import { holding } from '../core/booking-status.ts';
import type { Interval } from '../core/intervals.ts';
import type { BookedBlock, CountedBookings, Occupied } from '../core/occupied.ts';
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
  startsAt: Date;
  endsAt: Date;
  holdStartsAt: Date;
  holdEndsAt: Date;
  firstRun: number;
  lastRun: number;
  isOneRun: boolean;
}

const ofTenant = `organization_id = :organizationId and environment = :environment and status in (${holding})`;
const columns = 'start_at, end_at, hold_start_at, hold_end_at';

// Joins row by row: PostgreSQL would otherwise choose a join by its current statistics.
const each = (arrays: string, names: string, select: string) =>
  `select w.n::int as n, b.* from unnest(${arrays}) with ordinality as w (${names}, n) cross join lateral (${select} offset 0) b`;

// A booking lasts a day at most, and so does each of its buffers: whether its hold can reach into a time follows from its
// start, which the index has.
const lasts = "interval '2 days'";
const leads = "interval '1 day'";

// In the order of the index of a host's bookings, and compared as its rows are: while the table is new, the planner
// considers any index equally good, and a connection keeps its plans. Bookings are merged here, because a host may have
// 132,480 on the days that one request asks for. Each level needs the columns of the one within: the gap before each
// booking, the block and the run that it belongs to, the runs of a block, the blocks.
const findBookings = statement({
  name: 'booking.occupied',
  parameters: {
    hosts: 'uuid[]',
    begins: 'timestamptz[]',
    ends: 'timestamptz[]',
    neighbours: 'int[]',
    mergedGaps: 'int[]',
    minGaps: 'int[]',
    except: 'uuid?',
  },
  row: {
    n: 'int',
    startsAt: 'timestamptz',
    endsAt: 'timestamptz',
    holdStartsAt: 'timestamptz',
    holdEndsAt: 'timestamptz',
    firstRun: 'int',
    lastRun: 'int',
    isOneRun: 'boolean',
  },
  text: each(
    ':hosts, :begins, :ends, :neighbours, :mergedGaps, :minGaps',
    'host_id, begins, ends, neighbours, merged_gap, min_gap',
    `select min(start_at) as "startsAt", max(end_at) as "endsAt", min(hold_start_at) as "holdStartsAt",
            max(hold_end_at) as "holdEndsAt", (array_agg(bookings order by run))[1]::int as "firstRun",
            (array_agg(bookings order by run desc))[1]::int as "lastRun", count(*) = 1 as "isOneRun"
       from (select block, run, min(start_at) as start_at, max(end_at) as end_at, min(hold_start_at) as hold_start_at,
                    max(hold_end_at) as hold_end_at, count(*) as bookings
               from (select ${columns},
                            count(*) filter (where gap > w.merged_gap * interval '1 millisecond') over by_start as block,
                            count(*) filter (where gap > greatest(w.min_gap * interval '1 minute', buffers))
                              over by_start as run
                       from (select ${columns}, start_at - lag(end_at) over by_start as gap,
                                    lag(hold_end_at - end_at) over by_start + (start_at - hold_start_at) as buffers
                               from ((select ${columns} from booking
                                       where ${ofTenant} and (host_id, start_at) > (w.host_id, w.begins - ${lasts})
                                         and (host_id, start_at) < (w.host_id, w.ends + ${leads})
                                         and hold_end_at > w.begins and hold_start_at < w.ends
                                         and id is distinct from :except
                                       order by host_id, start_at)
                                     union all
                                     (select ${columns} from booking
                                       where ${ofTenant} and (host_id, start_at) <= (w.host_id, w.begins)
                                         and host_id >= w.host_id and hold_end_at <= w.begins
                                         and id is distinct from :except
                                       order by host_id desc, start_at desc limit w.neighbours)
                                     union all
                                     (select ${columns} from booking
                                       where ${ofTenant} and (host_id, start_at) >= (w.host_id, w.ends)
                                         and host_id <= w.host_id and hold_start_at >= w.ends
                                         and id is distinct from :except
                                       order by host_id, start_at limit w.neighbours)) found
                             window by_start as (order by start_at)) gaps
                     window by_start as (order by start_at)) numbered
              group by block, run) runs
      group by block`,
  ),
});

// A time of `cuts` is where bookings begin to count for another day, week or month. They are counted here: an event type
// may have 132,480 bookings that count for the days that one request asks for.
const findCounted = statement({
  name: 'booking.counted',
  parameters: { eventTypeIds: 'uuid[]', firsts: 'int[]', lasts: 'int[]', cuts: 'timestamptz[]', except: 'uuid?' },
  row: { n: 'int', cut: 'int', count: 'int' },
  text: each(
    ':eventTypeIds, :firsts, :lasts',
    'event_type_id, first, last',
    `select w.first + width_bucket(start_at, own.cuts) - 1 as cut, count(*)::int as count
       from (select (:cuts)[w.first : w.last] as cuts, (:cuts)[w.first] as begins, (:cuts)[w.last] as ends offset 0) own
      cross join lateral (
        select start_at from booking
         where ${ofTenant} and event_type_id = w.event_type_id and start_at >= own.begins and start_at < own.ends
           and id is distinct from :except offset 0) counted
      group by 1`,
  ),
});

const toBlock = ({ n: _, startsAt, endsAt, holdStartsAt, holdEndsAt, ...runs }: Row): BookedBlock => ({
  startsAt: startsAt.getTime(),
  endsAt: endsAt.getTime(),
  holdStartsAt: holdStartsAt.getTime(),
  holdEndsAt: holdEndsAt.getTime(),
  ...runs,
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

async function readCounted(
  scope: Scope,
  wanted: readonly Wanted[],
  except: string | null,
): Promise<Occupied['counted'][]> {
  const counting = wanted.flatMap(({ bookable: { eventTypeId }, reads: { counted } }, index) =>
    counted ? [{ index, eventTypeId, counted }] : [],
  );
  const found: CountedBookings[][] = wanted.map(() => []);
  if (counting.length === 0) return found;
  const cuts = counting.flatMap(({ counted }) => counted.cuts);
  const lasts: number[] = [];
  for (const { counted } of counting) lasts.push((lasts.at(-1) ?? 0) + counted.cuts.length);
  const rows = await scope.rows(findCounted, {
    eventTypeIds: counting.map(({ eventTypeId }) => eventTypeId),
    firsts: counting.map(({ counted }, index) => lasts[index]! - counted.cuts.length + 1),
    lasts,
    cuts: cuts.map((at) => new Date(at)),
    except,
  });
  for (const { n, cut, count } of rows) found[counting[n - 1]!.index]!.push({ at: cuts[cut - 1]!, count });
  return found;
}

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
  const rows = await scope.rows(findBookings, {
    hosts,
    begins: starts(times),
    ends: ends(times),
    neighbours: wanted.map(({ reads }) => reads.neighbours),
    mergedGaps: wanted.map(({ reads }) => reads.mergedGap),
    minGaps: wanted.map(({ reads }) => reads.minGapMinutes),
    except,
  });
  const counted = await readCounted(scope, wanted, except);
  const busy = await readBusy(
    scope,
    wanted.map(({ bookable: { hostId, hasCalendars }, reads }) => ({
      hostId,
      within: hasCalendars ? reads.busy : nothing,
      mergedGap: reads.mergedGap,
      decidesAt: reads.decidesAt,
    })),
  );
  const booked = byWanted(wanted, rows);
  return wanted.map((_, index) => ({
    bookings: booked[index]!.map(toBlock),
    counted: counted[index]!,
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
