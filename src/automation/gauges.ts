import { memoize } from '../platform/concurrency/memoize.ts';
import { systemStatement } from '../platform/database/sql.ts';
import { type GaugeOptions, gaugeTimeoutMs } from '../platform/observability/metrics.ts';
import type { Probe } from '../platform/observability/probe.ts';
import { openRun } from './core/run-status.ts';

// Reads the index of open runs: the cost does not grow with the runs that have ended.
const openRuns = systemStatement({
  name: 'gauges.open_runs',
  row: { status: 'text', count: 'int', oldestSeconds: 'float8' },
  text: `select wanted.status, count(run.status)::int as count,
          coalesce(extract(epoch from atelier_now() - min(run.created_at)), 0)::float8 as "oldestSeconds"
     from unnest(array[${openRun}]) as wanted (status)
     left join run on run.status = wanted.status and run.status in (${openRun})
    group by wanted.status`,
});

// One row for each organization and environment that ever called out.
const callingRuns = systemStatement({
  name: 'gauges.calling_runs',
  row: { state: 'text', count: 'int' },
  text: `select state, coalesce(sum(case state when 'calling' then held else waiting end), 0)::int as count
     from unnest(array['calling', 'waiting']) as state left join calling_total on true group by state`,
});

/** Runs that have not ended. */
export function runGauges(observer: Probe): GaugeOptions[] {
  const read = memoize(5_000, () => observer.rows(openRuns, gaugeTimeoutMs));
  return [
    {
      name: 'atelier_runs_open',
      help: 'Runs that have not ended.',
      installationWide: true,
      labelNames: ['status'],
      read: async () => (await read()).map(({ status, count }) => ({ labels: { status }, value: count })),
    },
    {
      name: 'atelier_runs_open_oldest_seconds',
      help: 'Age of the oldest run that has not ended; 0 when there is none.',
      installationWide: true,
      labelNames: ['status'],
      read: async () =>
        (await read()).map(({ status, oldestSeconds }) => ({ labels: { status }, value: oldestSeconds })),
    },
    {
      name: 'atelier_runs_calling',
      help: 'Runs whose step is calling out, and runs that wait for a free slot of their organization to call out.',
      installationWide: true,
      labelNames: ['state'],
      read: async () =>
        (await observer.rows(callingRuns, gaugeTimeoutMs)).map(({ state, count }) => ({
          labels: { state },
          value: count,
        })),
    },
  ];
}
