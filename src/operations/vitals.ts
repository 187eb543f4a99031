import type { Database } from '../platform/database.ts';
import type { Log } from '../platform/log.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import { type Beacon, keptValues, maxSeries, VitalsBatch } from './core/vitals.ts';

const writeEveryMs = 1_000;
const forgottenAfterDays = 28;

// The latest values stay, the count goes on. A new series is made only while there is room for one.
const merge = statement<{ kept: boolean }>(
  'vital.merge',
  `insert into vital as v (name, path, samples, count, measured_at)
   select $1::text, $2::text, $3::float8[], $4::bigint, clock_timestamp()
    where (select count(*) from vital) < $6 or exists (select from vital where name = $1 and path = $2)
   on conflict (name, path) do update
      set samples = (v.samples || excluded.samples)[greatest(1, cardinality(v.samples) + cardinality(excluded.samples) - $5 + 1):],
          count = v.count + excluded.count, measured_at = excluded.measured_at
   returning true as kept`,
);

export interface VitalSummary {
  name: string;
  path: string | null;
  /** How many there ever were; percentiles speak of the latest 500. */
  count: number;
  p50: number;
  p75: number;
  p95: number;
}

const summarize = statement<VitalSummary>(
  'vital.summarize',
  `select name, nullif(path, '') as path, count::float8 as count, p[1] as p50, p[2] as p75, p[3] as p95
     from vital, lateral (select percentile_disc(array[0.5, 0.75, 0.95]) within group (order by value) as p
                            from unnest(samples) as value) as percentiles
    order by name, path`,
);

const forget = statement<{ name: string }>(
  'vital.forget',
  'delete from vital where measured_at < $1::timestamptz - make_interval(days => $2) returning name',
);

/**
 * What browsers measure of the installation's own pages. Anybody may send, so it is bounded everywhere: beacons are
 * gathered in memory, written once a second on one connection, and kept in a fixed number of rows of a fixed size.
 * A process that is killed loses the last second of them.
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

  /** Writes what was gathered so far. A database that is away loses it, and nothing else. */
  write(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#writing = this.#writing.then(() =>
      this.#writeBatch().catch((error) => this.#log.warn({ err: error }, 'vitals were not written')),
    );
    return this.#writing;
  }

  /** By name and page. What this process has gathered is in it; other processes lag by a second. */
  async summary(): Promise<VitalSummary[]> {
    await this.write();
    return sqlOn(this.#database.pool).rows(summarize);
  }

  async #writeBatch(): Promise<void> {
    const sql = sqlOn(this.#database.pool);
    for (const series of this.#batch.take()) {
      const { name, path, values, count } = series;
      if (await sql.one(merge, [name, path, values, count, keptValues, maxSeries])) this.#batch.keep(series);
    }
  }
}

/** Forgets pages that nobody measured for four weeks. @returns how many series */
export async function forgetOldVitals(database: Database, now: Date): Promise<number> {
  return (await sqlOn(database.pool).rows(forget, [now, forgottenAfterDays])).length;
}
