import { type Sql, systemStatement } from '../../platform/database/sql.ts';
import type { Egress } from '../../platform/egress/egress.ts';

/** Attempts that a host which had none for a while may get at once. */
const hostBurst = 100;

// The generic cell rate algorithm (ITU-T I.371), as core/admission.ts has it for one subscription. The row is the only
// state, so that the rate holds across processes. In the order of their names, to avoid deadlocks.
const takePlaces = systemStatement({
  name: 'host.take_places',
  parameters: { hosts: 'text[]', wanted: 'int[]', perSecond: 'float8', burst: 'int' },
  row: { host: 'text', granted: 'int' },
  text: `insert into webhook_host as h (host, free_at)
   select w.host, atelier_statement_now() + make_interval(secs => least(w.wanted, :burst) / :perSecond)
     from unnest(:hosts, :wanted) as w (host, wanted) order by w.host
   on conflict (host) do update
      set free_at = greatest(h.free_at, atelier_statement_now()) + make_interval(secs => least(
            round(extract(epoch from excluded.free_at - atelier_statement_now()) * :perSecond),
            greatest(0, floor(:burst + 0.001
              - extract(epoch from greatest(h.free_at, atelier_statement_now()) - atelier_statement_now()) * :perSecond))
          )::float8 / :perSecond)
   returning h.host, round(extract(epoch from
     new.free_at - greatest(coalesce(old.free_at, atelier_statement_now()),
       atelier_statement_now())) * :perSecond)::int as granted`,
});

/** @returns the hostname whose rate is limited; undefined for an address that EGRESS_ALLOW_CIDRS opens */
export const limitedHost = (egress: Pick<Egress, 'isOpened'>, url: string): string | undefined =>
  egress.isOpened(url) ? undefined : (URL.parse(url)?.hostname.replace(/\.$/, '') ?? '');

/**
 * Takes places for attempts to hosts.
 * @param wanted by host, at least 1
 * @param perSecond the rate of each host @param burst how many may be made at once after a while without
 * @returns how many of them may be made now, by host
 */
export async function takeHostRate(
  sql: Sql,
  wanted: ReadonlyMap<string, number>,
  perSecond: number,
  burst = hostBurst,
): Promise<Map<string, number>> {
  if (wanted.size === 0) return new Map();
  const rows = await sql.rows(takePlaces, {
    hosts: [...wanted.keys()],
    wanted: [...wanted.values()],
    perSecond,
    burst,
  });
  return new Map(rows.map(({ host, granted }) => [host, granted]));
}

/** After how long to ask again for places that were not granted, in ms. */
export const hostWaitMs = (perSecond: number): number => Math.max(100, 1_000 / perSecond);
