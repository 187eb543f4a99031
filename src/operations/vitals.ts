import type { Database } from '../platform/database/database.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import type { Log } from '../platform/observability/log.ts';
import { type Beacon, keptValues, maxSeries, VitalsBatch } from './core/vitals.ts';

const writeEveryMs = 1_000;
const keptDays = 28;

// Keeps the latest values and adds to the count. A new series is inserted only below the limit of series.
const merge = systemStatement({
  name: 'vital.merge',
  parameters: {
    name: 'text',
    path: 'text',
    values: 'float8[]',
    count: 'bigint',
    keptValues: 'int',
    maxSeries: 'bigint',
  },
  row: { kept: 'boolean' },
  text: `insert into vital as v (name, path, samples, count, measured_at)
   select :name, :path, :values, :count, atelier_now()
    where (select count(*) from vital) < :maxSeries or exists (select from vital where name = :name and path = :path)
   on conflict (name, path) do update
      set samples = (v.samples || excluded.samples)[greatest(1,
        cardinality(v.samples) + cardinality(excluded.samples) - :keptValues + 1):],
          count = v.count + excluded.count, measured_at = excluded.measured_at
   returning true as kept`,
});

interface VitalSummary {
  name: string;
  path: string | null;
  /** Total number of values. The percentiles cover the latest 500. */
  count: number;
  p50: number;
  p75: number;
  p95: number;
}

const summarize = systemStatement({
  name: 'vital.summarize',
  row: { name: 'text', path: 'text?', count: 'float8', p50: 'float8', p75: 'float8', p95: 'float8' },
  text: `select name, nullif(path, '') as path, count::float8 as count, p[1] as p50, p[2] as p75, p[3] as p95
     from vital, lateral (select percentile_disc(array[0.5, 0.75, 0.95]) within group (order by value) as p
                            from unnest(samples) as value) as percentiles
    order by name, path`,
});

const forget = systemStatement({
  name: 'vital.forget',
  parameters: { now: 'timestamptz', keptDays: 'int' },
  row: { name: 'text' },
  text: 'delete from vital where measured_at < :now - make_interval(days => :keptDays) returning name',
});

/**
 * Web vitals of the installation's own pages. Beacons are sent without authentication, so everything is bounded: they are
 * collected in memory, written once a second on one connection, and stored in a fixed number of rows of a fixed size.
 * A killed process loses the beacons of the last second.
 */
export class Vitals {
  readonly #database: Database;
  readonly #log: Log;
  readonly #batch = new VitalsBatch();
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(database: Database, log: Log) {
    this.#database = database;
    this.#log = log;
  }

  record(beacons: readonly Beacon[]): void {
    for (const beacon of beacons) this.#batch.add(beacon);
    this.#timer ??= setTimeout(() => this.write(), writeEveryMs);
  }

  /** Writes the collected beacons. If the database is unavailable they are lost, and the error is logged. */
  write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() =>
      this.#writeBatch().catch((error) => this.#log.warn({ err: error }, 'vitals were not written')),
    );
    return this.#writing;
  }

  /** By name and page. Includes the beacons this process has collected; those of other processes lag by a second. */
  async summary(): Promise<VitalSummary[]> {
    await this.write();
    return sqlOn(this.#database.pool).rows(summarize);
  }

  async #writeBatch(): Promise<void> {
    const sql = sqlOn(this.#database.pool);
    for (const series of this.#batch.take()) {
      const { name, path, values, count } = series;
      if (await sql.one(merge, { name, path, values, count, keptValues, maxSeries })) this.#batch.keep(series);
    }
  }
}

/** Removes series without a value for four weeks. @returns the number of removed series */
export async function forgetOldVitals(database: Database, now: Date): Promise<number> {
  return (await sqlOn(database.pool).rows(forget, { now, keptDays })).length;
}
