import { statement } from '../../platform/database/sql.ts';
import { latencyBounds, type StatusClass, statusClasses } from '../core/statistics.ts';

/*
 * The attempts of a webhook are counted in the statement that records them: once in a row of the minute and once in one
 * of the hour, for any number of attempts. Each minute of an hour has a row, which the next hour reuses, and so does
 * each of 720 hours, so that no row must be removed. Rows are written in the order of the webhooks, those of hours
 * first, to avoid deadlocks.
 */

/** Number of hours with separate counts: those of 30 days. */
const keptHours = 720;

/** The column that counts a class of status. */
export const columnOf: Record<StatusClass, string> = {
  '2xx': 'status_2xx',
  '3xx': 'status_3xx',
  '4xx': 'status_4xx',
  '5xx': 'status_5xx',
  error: 'no_answer',
};
const classColumns = statusClasses.map((name) => columnOf[name]);

/** Columns of both tables. Tests and examples do not count in them. */
const sharedColumns = [...classColumns, 'dead_lettered'];
/** Columns of hours alone, in which all attempts count: see health.ts. */
const hourColumns = ['delivered', 'failed'];

interface Period {
  table: string;
  /** The column of the beginning. */
  start: string;
  slot: string;
  columns: readonly string[];
}

const periods: readonly Period[] = [
  {
    table: 'attempt_hour',
    start: 'hour',
    slot: `(extract(epoch from now.at)::bigint / 3600 % ${keptHours})`,
    columns: [...hourColumns, ...sharedColumns],
  },
  {
    table: 'attempt_minute',
    start: 'minute',
    slot: 'extract(minute from now.at)',
    columns: sharedColumns,
  },
];

const addToPeriod = (counted: string, { table, start, slot, columns }: Period) => {
  const isSame = `c.${start} = excluded.${start}`;
  const added = columns.map((name) => `${name} = excluded.${name} + case when ${isSame} then c.${name} else 0 end`);
  const latencies = latencyBounds.map((_, place) => {
    const at = `latencies[${place + 1}]`;
    return `excluded.${at} + coalesce(c.${at}, 0)`;
  });
  return `insert into ${table} as c (subscription_id, slot, organization_id, environment, ${start}, ${columns.join(', ')}, latencies)
     select r.subscription_id, ${slot}, r.organization_id, r.environment, now.at, ${columns.map((name) => `r.${name}`).join(', ')}, r.latencies
       from ${counted} r cross join (select date_trunc('${start}', atelier_statement_now(), 'UTC') as at) now
      order by r.subscription_id
     on conflict (subscription_id, slot) do update
        set ${start} = excluded.${start}, ${added.join(', ')},
            latencies = case when ${isSame} then array[${latencies.join(', ')}] else excluded.latencies end`;
};

const addCounts = (counted: string) =>
  periods.map((period) => `of_${period.table} as (${addToPeriod(counted, period)})`).join(',\n   ');

const countIf = (condition: string) => `count(*) filter (where ${condition})`;

/**
 * CTEs that count recorded attempts.
 * @param recorded a CTE with a row for each attempt: subscription_id, organization_id, environment, the status that
 * followed, and as `AttemptFacts` says status_class and latency
 */
export const countAttemptsSql = (recorded: string) => `attempt_count as (
     select subscription_id, organization_id, environment,
            ${countIf("status = 'delivered'")} as delivered, ${countIf("status <> 'delivered'")} as failed,
            ${statusClasses.map((name) => `${countIf(`status_class = '${name}'`)} as ${columnOf[name]}`).join(', ')},
            ${countIf("status = 'dead_lettered' and status_class is not null")} as dead_lettered,
            array[${latencyBounds.map((_, place) => countIf(`latency = ${place}`)).join(', ')}]::int[] as latencies
       from ${recorded} group by subscription_id, organization_id, environment),
   ${addCounts('attempt_count')}`;

/** What an attempt counts as. */
export interface AttemptFacts {
  /** Null for tests and examples, which do not count. */
  status_class: StatusClass | null;
  /** The place of its duration in `latencyBounds`; null without an answer. */
  latency: number | null;
}

/**
 * CTEs that count deliveries that became dead letters without an attempt.
 * @param ended a CTE with a row for each, tests and examples apart: subscription_id, organization_id, environment
 */
export const countDeadLettersSql = (ended: string) => `attempt_count as (
     select subscription_id, organization_id, environment, ${[...hourColumns, ...classColumns].map((name) => `0 as ${name}`).join(', ')},
            count(*) as dead_lettered, array_fill(0, array[${latencyBounds.length}]) as latencies
       from ${ended} group by subscription_id, organization_id, environment),
   ${addCounts('attempt_count')}`;

/** The current hour and the 23 before it. */
export const attemptsOfDay = (subscription: string) =>
  `(select coalesce(sum(delivered), 0)::int as delivered, coalesce(sum(failed), 0)::int as failed from attempt_hour
     where organization_id = :organizationId and environment = :environment and subscription_id = ${subscription}
       and hour > atelier_now() - interval '24 hours')`;

/** Removes the counts of a deleted webhook. */
export const forgetAttempts = statement({
  name: 'attempt_counts.forget',
  parameters: { subscriptionId: 'uuid' },
  text: `with minutes as (
     delete from attempt_minute where organization_id = :organizationId and environment = :environment
       and subscription_id = :subscriptionId)
   delete from attempt_hour where organization_id = :organizationId and environment = :environment
     and subscription_id = :subscriptionId`,
});
