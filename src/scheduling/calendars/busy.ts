import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import type { Interval } from '../core/intervals.ts';

/** Busy times up to this long are found by their start alone. */
export const longMs = 2 * 86_400_000;

/** The busy times of a host that are to be read. */
export interface WantedBusy {
  hostId: string;
  /** Those that overlap this; an empty time has none. */
  within: Interval;
  /** Busy times with at most this between them are read as one, in milliseconds. */
  mergedGap: number;
  /** Only the first of those that end by this moment, and the first of the others, are read; null: all. */
  decidesAt: number | null;
}

// One snapshot: the generation that a calendar names, and the busy times of that generation. What starts too early is long,
// and an index of its own has those. They are merged here: the calendars of a host may have 200,000 events.
const find = statement({
  name: 'calendar.busy_of_hosts',
  parameters: {
    hostIds: 'uuid[]',
    begins: 'timestamptz[]',
    ends: 'timestamptz[]',
    mergedGaps: 'int[]',
    decidesAts: 'timestamptz?[]',
  },
  row: { n: 'int', startsAt: 'timestamptz', endsAt: 'timestamptz' },
  text: `select w.n::int as n, b.starts_at as "startsAt", b.ends_at as "endsAt"
     from unnest(:hostIds, :begins, :ends, :mergedGaps, :decidesAts) with ordinality
       as w (host_id, begins, ends, merged_gap, decides_at, n)
    cross join lateral (select greatest(w.merged_gap, 0) * interval '1 millisecond' as merged) gap
    cross join lateral (
       select lower(time) as starts_at, upper(time) - gap.merged as ends_at,
              row_number() over (partition by upper(time) - gap.merged > w.decides_at order by time) as place
         from (select unnest(range_agg(tstzrange(e.starts_at, e.ends_at + gap.merged))) as time
                 from (select id, generation from calendar
                        where organization_id = :organizationId and environment = :environment
                          and host_id = w.host_id offset 0) c
                cross join lateral (
                   select starts_at, ends_at from calendar_busy
                    where calendar_id = c.id and generation = c.generation
                      and starts_at > w.begins - interval '2 days' and starts_at < w.ends and ends_at > w.begins
                   union all
                   select starts_at, ends_at from calendar_busy
                    where calendar_id = c.id and generation = c.generation and is_long
                      and starts_at <= w.begins - interval '2 days' and ends_at > w.begins) e) merged) b
    where w.begins < w.ends and (w.decides_at is null or b.place = 1)`,
});

/**
 * The times at which events in the connected calendars of hosts block them. None overlaps another.
 * @returns in the order of the hosts
 */
export async function readBusy(scope: Scope, wanted: readonly WantedBusy[]): Promise<Interval[][]> {
  const busy: Interval[][] = wanted.map(() => []);
  if (wanted.every(({ within: { startsAt, endsAt } }) => startsAt >= endsAt)) return busy;
  const rows = await scope.rows(find, {
    hostIds: wanted.map(({ hostId }) => hostId),
    begins: wanted.map(({ within }) => new Date(within.startsAt)),
    ends: wanted.map(({ within }) => new Date(within.endsAt)),
    mergedGaps: wanted.map(({ mergedGap }) => mergedGap),
    decidesAts: wanted.map(({ decidesAt }) => (decidesAt === null ? null : new Date(decidesAt))),
  });
  for (const { n, startsAt, endsAt } of rows) {
    busy[n - 1]!.push({ startsAt: startsAt.getTime(), endsAt: endsAt.getTime() });
  }
  return busy;
}
