import { memoize } from '../platform/concurrency/memoize.ts';
import { systemStatement } from '../platform/database/sql.ts';
import { type GaugeOptions, gaugeTimeoutMs } from '../platform/observability/metrics.ts';
import type { Probe } from '../platform/observability/probe.ts';

const cachedMs = 5_000;

// Some rows for each tenant that ever kept a file, and one entry of the index of files to be removed.
const storageState = systemStatement({
  name: 'gauges.storage',
  row: { bytes: 'float8', lateSeconds: 'float8' },
  text: `select (select coalesce(sum(bytes), 0) from storage_used)::float8 as bytes,
          greatest(coalesce((select extract(epoch from atelier_now() - min(remove_at)) from file
                              where remove_at is not null), 0), 0)::float8 as "lateSeconds"`,
});

/** The amount of stored files, and whether they are removed in time. */
export function storageGauges(observer: Probe): GaugeOptions[] {
  const read = memoize(cachedMs, () => observer.rows(storageState, gaugeTimeoutMs));
  return [
    {
      name: 'atelier_storage_used_bytes',
      help: 'Bytes of the files that organizations keep.',
      installationWide: true,
      read: async () => (await read()).map(({ bytes }) => ({ value: bytes })),
    },
    {
      name: 'atelier_files_removal_late_seconds',
      help: 'Time since the removal of the most overdue file was due; 0 when none is due.',
      installationWide: true,
      read: async () => (await read()).map(({ lateSeconds }) => ({ value: lateSeconds })),
    },
  ];
}
