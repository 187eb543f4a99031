import type { Scope } from '../../platform/scope.ts';
import { statement } from '../../platform/sql.ts';
import type { Interval } from '../core/intervals.ts';

/** Busy times up to this long are found by their start alone. */
export const longMs = 2 * 86_400_000;

// One snapshot: the generation that a calendar names, and the busy times of that generation. What starts too early is long,
// and an index of its own has those.
const find = statement<{ startsAt: Date; endsAt: Date }>(
  'calendar.busy',
  `select b.starts_at as "startsAt", b.ends_at as "endsAt"
     from calendar c
     join lateral (
       select starts_at, ends_at from calendar_busy
        where calendar_id = c.id and generation = c.generation
          and starts_at > $4::timestamptz - interval '2 days' and starts_at < $5::timestamptz and ends_at > $4
       union all
       select starts_at, ends_at from calendar_busy
        where calendar_id = c.id and generation = c.generation and is_long
          and starts_at <= $4::timestamptz - interval '2 days' and ends_at > $4) b on true
    where c.organization_id = $1 and c.environment = $2 and c.host_id = $3`,
);

/** When events in the connected calendars of a host block it: those that overlap a time. They may overlap each other. */
export async function readBusy(scope: Scope, hostId: string, { startsAt, endsAt }: Interval): Promise<Interval[]> {
  if (startsAt >= endsAt) return [];
  const rows = await scope.rows(find, hostId, new Date(startsAt), new Date(endsAt));
  return rows.map((row) => ({ startsAt: row.startsAt.getTime(), endsAt: row.endsAt.getTime() }));
}
