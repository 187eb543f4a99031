import { memoize } from '../platform/concurrency/memoize.ts';
import type { Database } from '../platform/database/database.ts';
import { systemStatement } from '../platform/database/sql.ts';
import { type GaugeOptions, gaugeTimeoutMs } from '../platform/observability/metrics.ts';
import type { Probe } from '../platform/observability/probe.ts';

const cachedMs = 5_000;

export interface OutboxState {
  /** Counted up to 10,000, to bound the cost of the query. */
  depth: number;
  oldestSeconds: number;
}

// Ids are ordered by time, so the first entry is the oldest.
const outboxState = systemStatement({
  name: 'gauges.outbox',
  row: { depth: 'int', oldestSeconds: 'float8' },
  text: `select (select count(*) from (select from outbox limit 10000) as counted)::int as depth,
          coalesce((select extract(epoch from atelier_now() - created_at) from outbox order by id
            limit 1), 0)::float8
            as "oldestSeconds"`,
});

interface KindState {
  kind: string;
  depth: number;
  failing: number;
  oldestSeconds: number;
}

const kindStates = systemStatement({
  name: 'gauges.outbox_kinds',
  row: { kind: 'text', depth: 'int', failing: 'int', oldestSeconds: 'float8' },
  text: `select kind, count(*)::int as depth, count(last_error)::int as failing,
          extract(epoch from atelier_now() - min(created_at))::float8 as "oldestSeconds"
     from (select kind, created_at, last_error from outbox limit 10000) as entry group by kind`,
});

/** Reads the state of every kind that the process declares or the outbox holds. */
async function readKinds(database: Database, probe: Probe): Promise<KindState[]> {
  const found = await probe.rows(kindStates, gaugeTimeoutMs);
  const empty = database.outbox.kinds.filter((kind) => !found.some((state) => state.kind === kind));
  return [...found, ...empty.map((kind) => ({ kind, depth: 0, failing: 0, oldestSeconds: 0 }))];
}

export const readOutbox = async (probe: Probe): Promise<OutboxState> =>
  (await probe.rows(outboxState, gaugeTimeoutMs))[0]!;

/** The outbox and the connection pools. */
export function platformGauges(database: Database, observer: Probe): GaugeOptions[] {
  const outbox = memoize(cachedMs, () => readOutbox(observer));
  const kinds = memoize(cachedMs, () => readKinds(database, observer));
  const byKind = (value: 'depth' | 'failing' | 'oldestSeconds') => async () =>
    (await kinds()).map(({ kind, ...state }) => ({ labels: { kind }, value: state[value] }));
  const pools = { system: database.pool, tenant: database.tenantPool };
  return [
    {
      name: 'atelier_outbox_entries',
      help: 'Entries in the outbox; counted up to 10000.',
      installationWide: true,
      read: async () => [{ value: (await outbox()).depth }],
    },
    {
      name: 'atelier_outbox_oldest_seconds',
      help: 'Age of the oldest outbox entry; 0 when the outbox is empty.',
      installationWide: true,
      read: async () => [{ value: (await outbox()).oldestSeconds }],
    },
    {
      name: 'atelier_outbox_kind_entries',
      help: 'Outbox entries by kind; counted up to 10000 in all.',
      installationWide: true,
      labelNames: ['kind'],
      read: byKind('depth'),
    },
    {
      name: 'atelier_outbox_kind_failing_entries',
      help: 'Outbox entries whose last attempt failed, by kind. They are retried until they succeed.',
      installationWide: true,
      labelNames: ['kind'],
      read: byKind('failing'),
    },
    {
      name: 'atelier_outbox_kind_oldest_seconds',
      help: 'Age of the oldest outbox entry of each kind; 0 when it has none.',
      installationWide: true,
      labelNames: ['kind'],
      read: byKind('oldestSeconds'),
    },
    {
      name: 'atelier_database_connections',
      help: 'Connections per pool, and requests waiting for one.',
      labelNames: ['pool', 'state'],
      read: () =>
        Object.entries(pools).flatMap(([pool, { totalCount, idleCount, waitingCount }]) => [
          { labels: { pool, state: 'in_use' }, value: totalCount - idleCount },
          { labels: { pool, state: 'idle' }, value: idleCount },
          { labels: { pool, state: 'waiting' }, value: waitingCount },
        ]),
    },
  ];
}
