import { memoize } from '../platform/memoize.ts';
import { type GaugeOptions, gaugeTimeoutMs } from '../platform/metrics.ts';
import type { Probe } from '../platform/probe.ts';
import { statement } from '../platform/sql.ts';
import { openDelivery } from './core/delivery-status.ts';

interface OpenDeliveries {
  status: string;
  count: number;
  oldestSeconds: number;
}

// Reads the indexes of first attempts, retries and dead letters, at most 10,000 rows of each.
const openDeliveries = statement<OpenDeliveries>(
  'gauges.open_deliveries',
  `select wanted.wait as status, count(since)::int as count, coalesce(extract(epoch from clock_timestamp() - min(since)), 0)::float8 as "oldestSeconds"
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

/** Deliveries that wait: for their first attempt, for a retry, or for a replay. */
export function deliveryGauges(observer: Probe): GaugeOptions[] {
  const read = memoize(5_000, () => observer.rows(openDeliveries, gaugeTimeoutMs));
  return [
    {
      name: 'atelier_deliveries_open',
      help: 'Webhook deliveries that wait for their first attempt, for a retry, or for a replay; counted up to 10000.',
      installationWide: true,
      labelNames: ['status'],
      read: async () => (await read()).map(({ status, count }) => ({ labels: { status }, value: count })),
    },
    {
      name: 'atelier_deliveries_open_oldest_seconds',
      help: 'Age of the oldest waiting delivery; 0 when there is none.',
      installationWide: true,
      labelNames: ['status'],
      read: async () =>
        (await read()).map(({ status, oldestSeconds }) => ({ labels: { status }, value: oldestSeconds })),
    },
  ];
}
