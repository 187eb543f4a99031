import { openRun } from '../automation/core/run-status.ts';
import type { Database } from '../platform/database.ts';
import { memoize } from '../platform/memoize.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Probe } from '../platform/probe.ts';
import { statement } from '../platform/sql.ts';
import { openDelivery } from '../webhooks/core/delivery-status.ts';

const rememberedMs = 5_000;
const withinMs = 500;

export interface OutboxState {
  /** At most 10,000: enough to know that something is wrong. */
  depth: number;
  oldestSeconds: number;
}

// Ids begin with their time, so the oldest entry is the first one.
const outboxState = statement<OutboxState>(
  'gauges.outbox',
  `select (select count(*) from (select from outbox limit 10000) as counted)::int as depth,
          coalesce((select extract(epoch from clock_timestamp() - created_at) from outbox order by id limit 1), 0)::float8
            as "oldestSeconds"`,
);

interface OpenRuns {
  status: string;
  count: number;
  oldestSeconds: number;
}

// On the index of open runs: what it costs does not grow with the runs that are over.
const openRuns = statement<OpenRuns>(
  'gauges.open_runs',
  `select wanted.status, count(run.status)::int as count,
          coalesce(extract(epoch from clock_timestamp() - min(run.created_at)), 0)::float8 as "oldestSeconds"
     from unnest(array[${openRun}]) as wanted (status)
     left join run on run.status = wanted.status and run.status in (${openRun})
    group by wanted.status`,
);

interface OpenDeliveries {
  status: string;
  count: number;
  oldestSeconds: number;
}

// On the indexes of first attempts, of retries and of dead letters, at most 10,000 of each.
const openDeliveries = statement<OpenDeliveries>(
  'gauges.open_deliveries',
  `select wanted.wait as status, count(since)::int as count,
          coalesce(extract(epoch from clock_timestamp() - min(since)), 0)::float8 as "oldestSeconds"
     from (values ('first'), ('retry'), ('dead_lettered')) as wanted (wait)
     left join lateral (
       (select created_at as since from delivery where wanted.wait = 'first' and status = 'pending' and attempts = 0 limit 10000)
       union all
       (select created_at from delivery
         where wanted.wait = 'retry' and status in (${openDelivery}) and attempts > 0 limit 10000)
       union all
       (select finished_at from delivery where wanted.wait = 'dead_lettered' and status = 'dead_lettered' limit 10000)
     ) as open on true
    group by wanted.wait`,
);

// Nothing until the ledger was proved for the first time.
const ledgerCheck = statement<{ faults: number; ageSeconds: number }>(
  'gauges.ledger_check',
  `select faults, extract(epoch from clock_timestamp() - checked_at)::float8 as "ageSeconds"
     from ledger_check where checked_at is not null`,
);

export const readOutbox = async (probe: Probe): Promise<OutboxState> => (await probe.rows(outboxState, withinMs))[0]!;

/** Gauges that are read from the database and its pools when somebody asks, and at most every five seconds. */
export function addGauges(metrics: Metrics, database: Database, probe: Probe): void {
  const outbox = memoize(rememberedMs, () => readOutbox(probe));
  const runs = memoize(rememberedMs, () => probe.rows(openRuns, withinMs));
  const deliveries = memoize(rememberedMs, () => probe.rows(openDeliveries, withinMs));
  const ledger = memoize(rememberedMs, () => probe.rows(ledgerCheck, withinMs));
  metrics.gauge({
    name: 'atelier_outbox_entries',
    help: 'Work that committed transactions owe; counted up to 10000.',
    read: async () => [{ value: (await outbox()).depth }],
  });
  metrics.gauge({
    name: 'atelier_outbox_oldest_seconds',
    help: 'Age of the oldest entry of the outbox; 0 when it is empty.',
    read: async () => [{ value: (await outbox()).oldestSeconds }],
  });
  metrics.gauge({
    name: 'atelier_runs_open',
    help: 'Runs that have not ended.',
    labelNames: ['status'],
    read: async () => (await runs()).map(({ status, count }) => ({ labels: { status }, value: count })),
  });
  metrics.gauge({
    name: 'atelier_runs_open_oldest_seconds',
    help: 'Age of the oldest run that has not ended; 0 when there is none.',
    labelNames: ['status'],
    read: async () => (await runs()).map(({ status, oldestSeconds }) => ({ labels: { status }, value: oldestSeconds })),
  });
  metrics.gauge({
    name: 'atelier_deliveries_open',
    help: 'Webhook deliveries that wait for their first attempt, for a retry, or for their replay; counted up to 10000.',
    labelNames: ['status'],
    read: async () => (await deliveries()).map(({ status, count }) => ({ labels: { status }, value: count })),
  });
  metrics.gauge({
    name: 'atelier_deliveries_open_oldest_seconds',
    help: 'Age of the oldest of them; 0 when there is none.',
    labelNames: ['status'],
    read: async () =>
      (await deliveries()).map(({ status, oldestSeconds }) => ({ labels: { status }, value: oldestSeconds })),
  });
  metrics.gauge({
    name: 'atelier_credit_ledger_faults',
    help: 'What did not add up when the credit ledger was last proved, which is done once an hour.',
    read: async () => (await ledger()).map(({ faults }) => ({ value: faults })),
  });
  metrics.gauge({
    name: 'atelier_credit_ledger_check_age_seconds',
    help: 'How long ago the credit ledger was last proved.',
    read: async () => (await ledger()).map(({ ageSeconds }) => ({ value: ageSeconds })),
  });
  const pools = { system: database.pool, tenant: database.tenantPool };
  metrics.gauge({
    name: 'atelier_database_connections',
    help: 'Connections of each pool, and requests that wait for one.',
    labelNames: ['pool', 'state'],
    read: () =>
      Object.entries(pools).flatMap(([pool, { totalCount, idleCount, waitingCount }]) => [
        { labels: { pool, state: 'in_use' }, value: totalCount - idleCount },
        { labels: { pool, state: 'idle' }, value: idleCount },
        { labels: { pool, state: 'waiting' }, value: waitingCount },
      ]),
  });
}
