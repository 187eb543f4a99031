import { memoize } from '../platform/concurrency/memoize.ts';
import { systemStatement } from '../platform/database/sql.ts';
import { type GaugeOptions, gaugeTimeoutMs } from '../platform/observability/metrics.ts';
import type { Probe } from '../platform/observability/probe.ts';
import type { JobDeclaration, JobTypes } from './declaration.ts';

interface OpenWork {
  kind: string;
  count: number;
  oldestSeconds: number;
}

const literals = (texts: readonly string[]) => texts.map((text) => `'${text}'`).join(', ');

/** Gauges of the jobs that have not ended: how many there are, and the age of the oldest. */
export function jobGauges<Of extends JobTypes>({ table, isOpen, gauges }: JobDeclaration<Of>) {
  if (!gauges) return { gauges: () => [] };
  const { name, title, kinds } = gauges;
  const count = systemStatement({
    name: `gauges.open_${name}`,
    row: { kind: 'text', count: 'int', oldestSeconds: 'float8' },
    text: `select wanted.kind, coalesce(found.count, 0) as count, coalesce(found.seconds, 0) as "oldestSeconds"
       from unnest(array[${literals(kinds)}]) as wanted (kind)
       left join (select kind, count(*)::int as count,
                         extract(epoch from atelier_now() - min(created_at))::float8 as seconds
                    from ${table} where ${isOpen} group by kind) found using (kind)`,
  });
  return {
    gauges({ observer }: { observer: Probe }): GaugeOptions[] {
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
    },
  };
}
