import { memoize } from './memoize.ts';
import { type GaugeOptions, gaugeTimeoutMs } from './metrics.ts';
import type { Probe } from './probe.ts';
import { statement } from './sql.ts';

interface OpenWork {
  kind: string;
  count: number;
  oldestSeconds: number;
}

/** Work whose rows have a kind, a status and the time of their creation. */
export interface KindsOfWork {
  /** Of the metrics: `atelier_<name>_open` and `atelier_<name>_open_oldest_seconds`. */
  name: string;
  /** As people call it. */
  title: string;
  table: string;
  kinds: readonly string[];
  /** Condition in SQL, with an index of its own: the cost does not grow with what has ended. */
  isOpen: string;
}

const literals = (texts: readonly string[]) => texts.map((text) => `'${text}'`).join(', ');

/** Gauges of the work of a feature that has not ended: how much there is, and the age of the oldest. */
export function openWorkGauges(observer: Probe, { name, title, table, kinds, isOpen }: KindsOfWork): GaugeOptions[] {
  const count = statement<OpenWork>(
    `gauges.open_${name}`,
    `select wanted.kind, coalesce(found.count, 0) as count, coalesce(found.seconds, 0) as "oldestSeconds"
       from unnest(array[${literals(kinds)}]) as wanted (kind)
       left join (select kind, count(*)::int as count,
                         extract(epoch from clock_timestamp() - min(created_at))::float8 as seconds
                    from ${table} where ${isOpen} group by kind) found using (kind)`,
  );
  const read = memoize(5_000, () => observer.rows(count, gaugeTimeoutMs));
  const gauge = (suffix: string, help: string, figure: (work: OpenWork) => number): GaugeOptions => ({
    name: `atelier_${name}_open${suffix}`,
    help,
    installationWide: true,
    labelNames: ['kind'],
    read: async () => (await read()).map((work) => ({ labels: { kind: work.kind }, value: figure(work) })),
  });
  return [
    gauge('', `${title} that have not ended.`, (work) => work.count),
    gauge('_oldest_seconds', `Age of the oldest of them; 0 when there is none.`, (work) => work.oldestSeconds),
  ];
}
