import type { CountedUse, UseAmounts, UseDimension, UseOfProcess } from '../../platform/database/counted-use.ts';
import type { Database } from '../../platform/database/database.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Tenant } from '../../platform/tenant.ts';
import { maxValues, otherValues } from '../core/usage-groups.ts';
import { keyOfActor } from './key-of-actor.ts';
import { thisMonth } from './usage-months.ts';

const columns = ['requests', 'runs', 'failed_runs', 'tokens', 'credits', 'deliveries', 'failed_deliveries'] as const;
const isHourly = "dimension in ('hour', 'error')";

// A value that is new in its day or hour counts with the others once there are as many as are kept apart. The rows are
// written in the order of their key, so that processes which write at the same time do not wait for each other in a circle.
// Late counts of an organization that was removed meanwhile are dropped: nothing would remove their rows.
const addUse = systemStatement({
  name: 'usage.count',
  parameters: { counts: 'json', maxValues: 'int' },
  text: `with given as (
     select g.*, date_trunc(case when ${isHourly} then 'hour' else 'day' end, atelier_statement_now(), 'UTC') as starts_at
       from json_to_recordset(:counts) as g (organization_id uuid, environment text, dimension text, value text,
              ${columns.map((name) => `${name} bigint`).join(', ')})
      where exists (select from organization o where o.id = g.organization_id)),
   known as (
     select g.*, exists (
              select from usage_count c
               where c.organization_id = g.organization_id and c.environment = g.environment and c.dimension = g.dimension
                 and c.starts_at = g.starts_at and c.value = g.value) as is_known
       from given g),
   placed as (
     select k.*, case when is_known then 0 else
              row_number() over (partition by organization_id, environment, dimension, is_known order by value)
              + (select count(*) from (
                   select from usage_count c
                    where c.organization_id = k.organization_id and c.environment = k.environment
                      and c.dimension = k.dimension and c.starts_at = k.starts_at limit :maxValues) as present) end as place
       from known k),
   months as (
     insert into usage_month (organization_id, environment, month, requests)
     select organization_id, environment, ${thisMonth}, requests from given
      where dimension = 'day' and requests > 0 order by organization_id, environment
     on conflict (organization_id, environment, month) do update set requests = usage_month.requests + excluded.requests)
   insert into usage_count as c (organization_id, environment, dimension, starts_at, value, ${columns.join(', ')})
   select organization_id, environment, dimension, starts_at, case when place > :maxValues then '${otherValues}' else value end,
          ${columns.map((name) => `sum(${name})`).join(', ')}
     from placed group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5
   on conflict (organization_id, environment, dimension, starts_at, value) do update
     set ${columns.map((name) => `${name} = c.${name} + excluded.${name}`).join(', ')}`,
});

const flushEveryMs = 5_000;
/** Counters of one statement. */
const batchSize = 2_000;
const maxValueLength = 200;

/** The value as a row keeps it. A character that is cut in half would be no JSON, and no batch with it could be written. */
const keptValue = (value: string): string =>
  value.length > maxValueLength ? value.slice(0, maxValueLength).toWellFormed() : value;

type Counts = Record<(typeof columns)[number], number>;

interface Counter {
  dimension: UseDimension | 'hour' | 'day';
  value: string;
  counts: Counts;
}

/** The use of a tenant since the last write. */
class TenantUse {
  readonly tenant: Tenant;
  /** Requests of hour and day: counted apart, because there are many. */
  requests = 0;
  readonly counters = new Map<string, Counter>();
  readonly #values = new Map<string, number>();

  constructor(tenant: Tenant) {
    this.tenant = tenant;
  }

  add(dimension: Counter['dimension'], value: string, amounts: UseAmounts): void {
    const counts = this.#counterOf(dimension, keptValue(value));
    counts.requests += amounts.requests ?? 0;
    counts.runs += amounts.runs ?? 0;
    counts.failed_runs += amounts.failedRuns ?? 0;
    counts.tokens += amounts.tokens ?? 0;
    counts.credits += amounts.credits ?? 0;
    counts.deliveries += amounts.deliveries ?? 0;
    counts.failed_deliveries += amounts.failedDeliveries ?? 0;
  }

  /** Memory is bounded as rows are. */
  #counterOf(dimension: Counter['dimension'], value: string): Counts {
    const name = `${dimension} ${value}`;
    const known = this.counters.get(name);
    if (known) return known.counts;
    const values = this.#values.get(dimension) ?? 0;
    if (values >= maxValues && value !== otherValues) return this.#counterOf(dimension, otherValues);
    this.#values.set(dimension, values + 1);
    const counts = { requests: 0, runs: 0, failed_runs: 0, tokens: 0, credits: 0, deliveries: 0, failed_deliveries: 0 };
    this.counters.set(name, { dimension, value, counts });
    return counts;
  }
}

/**
 * Counts in memory what tenants use and writes it in batches, so that no transaction waits for a counter. A killed process
 * loses the counts of its last seconds.
 */
export class UseCounter implements UseOfProcess {
  readonly #database: Database;
  readonly #log: Log;
  #used = new Map<string, TenantUse>();
  #flushing = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;

  constructor(database: Database, log: Log) {
    this.#database = database;
    this.#log = log;
  }

  /** @param keyId of the key that made the requests; null where none did */
  countRequests(tenant: Tenant, keyId: string | null, requests = 1): void {
    const used = this.#useOf(tenant);
    used.requests += requests;
    if (keyId !== null) used.add('key', keyId, { requests });
  }

  add(tenant: Tenant, actor: string, counted: readonly CountedUse[]): void {
    const used = this.#useOf(tenant);
    const keyId = keyOfActor(actor);
    for (const { by, value, ...amounts } of counted) {
      used.add(by, value, amounts);
      if (by !== 'kind') continue;
      used.add('hour', '', amounts);
      used.add('day', '', amounts);
      if (keyId !== null && amounts.runs) used.add('key', keyId, { runs: amounts.runs });
    }
  }

  start(): void {
    this.#database.use = this;
    this.#timer = setInterval(() => this.flush(), flushEveryMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }

  /** Resolves when everything that was counted before the call is written. One write follows another. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.then(() => this.#flushNow());
    return this.#flushing;
  }

  async #flushNow(): Promise<void> {
    const used = [...this.#used.values()];
    if (used.length === 0) return;
    this.#used = new Map();
    for (const one of used) {
      if (one.requests === 0) continue;
      one.add('hour', '', { requests: one.requests });
      one.add('day', '', { requests: one.requests });
    }
    const counters = used.flatMap(({ tenant, counters: all }) => [...all.values()].map((one) => ({ tenant, ...one })));
    for (let at = 0; at < counters.length; at += batchSize) await this.#write(counters.slice(at, at + batchSize));
  }

  #useOf(tenant: Tenant): TenantUse {
    const name = `${tenant.organizationId}:${tenant.environment}`;
    let used = this.#used.get(name);
    if (!used) {
      const { organizationId, environment } = tenant;
      used = new TenantUse({ organizationId, environment });
      this.#used.set(name, used);
    }
    return used;
  }

  async #write(counters: readonly (Counter & { tenant: Tenant })[]): Promise<void> {
    const counts = counters.map(({ tenant: { organizationId, environment }, dimension, value, counts: all }) => ({
      organization_id: organizationId,
      environment,
      dimension,
      value,
      ...all,
    }));
    try {
      await sqlOn(this.#database.pool).rows(addUse, { counts: JSON.stringify(counts), maxValues });
    } catch (error) {
      this.#log.warn({ err: error }, 'usage counts could not be written and will be retried');
      for (const { tenant, dimension, value, counts: all } of counters) {
        this.#useOf(tenant).add(dimension, value, {
          requests: all.requests,
          runs: all.runs,
          failedRuns: all.failed_runs,
          tokens: all.tokens,
          credits: all.credits,
          deliveries: all.deliveries,
          failedDeliveries: all.failed_deliveries,
        });
      }
    }
  }
}
