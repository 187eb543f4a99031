import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import type { Interval } from '../core/intervals.ts';

/** Busy times up to this long are found by their start alone. */
export const longMs = 2 * 86_400_000;

// One snapshot: the generation that a calendar names, and the busy times of that generation. What starts too early is long,
// and an index of its own has those. They are merged here: the calendars of a host may have 200,000 events that overlap.
const find = statement({
  name: 'calendar.busy_of_hosts',
  parameters: { hostIds: 'uuid[]', begins: 'timestamptz[]', ends: 'timestamptz[]' },
  row: { n: 'int', startsAt: 'timestamptz', endsAt: 'timestamptz' },
  text: `select w.n::int as n, lower(b.time) as "startsAt", upper(b.time) as "endsAt"
     from unnest(:hostIds, :begins, :ends) with ordinality as w (host_id, begins, ends, n)
    cross join lateral (
       select unnest(range_agg(tstzrange(e.starts_at, e.ends_at))) as time
         from (select id, generation from calendar
                where organization_id = :organizationId and environment = :environment and host_id = w.host_id offset 0) c
        cross join lateral (
           select starts_at, ends_at from calendar_busy
            where calendar_id = c.id and generation = c.generation
              and starts_at > w.begins - interval '2 days' and starts_at < w.ends and ends_at > w.begins
           union all
           select starts_at, ends_at from calendar_busy
            where calendar_id = c.id and generation = c.generation and is_long
              and starts_at <= w.begins - interval '2 days' and ends_at > w.begins) e) b
    where w.begins < w.ends`,
});

/**
 * The times at which events in the connected calendars of hosts block them: those that overlap a time. None overlaps
 * another.
 * @param within a time for each of the hosts; an empty one has none
 * @returns in the order of the hosts
 */
export async function readBusy(
  scope: Scope,
  hostIds: readonly string[],
  within: readonly Interval[],
): Promise<Interval[][]> {
  const busy: Interval[][] = hostIds.map(() => []);
  if (within.every(({ startsAt, endsAt }) => startsAt >= endsAt)) return busy;
  const [begins, ends] = [
    within.map(({ startsAt }) => new Date(startsAt)),
    within.map(({ endsAt }) => new Date(endsAt)),
  ];
  for (const { n, startsAt, endsAt } of await scope.rows(find, { hostIds, begins, ends })) {
    busy[n - 1]!.push({ startsAt: startsAt.getTime(), endsAt: endsAt.getTime() });
  }
  return busy;
}
