import { removalOf } from '../../platform/database/remove-rows.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import { otherValues } from '../core/usage-groups.ts';

/** What usage is grouped by. `hour` and `error` are kept for 31 days, the others for 400. */
export const usageDimensions = ['day', 'workflow', 'model', 'key', 'kind', 'hour', 'error'] as const;
export type UsageDimension = (typeof usageDimensions)[number];

export interface UsageAmounts {
  requests: number;
  runs: number;
  failedRuns: number;
  tokens: number;
  credits: number;
  deliveries: number;
  failedDeliveries: number;
}

/** The use of one value of a dimension. */
export interface UsageGroup extends UsageAmounts {
  /** The start of the day or hour, the id of the workflow or key, the name of the model, kind or error, or `other`. */
  group: string;
}

/** Groups beyond those with the most use are one. */
const maxGroups = 200;

const sums = `coalesce(sum(requests), 0)::float8 as requests, coalesce(sum(runs), 0)::float8 as runs,
          coalesce(sum(failed_runs), 0)::float8 as "failedRuns", coalesce(sum(tokens), 0)::float8 as tokens,
          coalesce(sum(credits), 0)::float8 as credits, coalesce(sum(deliveries), 0)::float8 as deliveries,
          coalesce(sum(failed_deliveries), 0)::float8 as "failedDeliveries"`;

const amounts = {
  requests: 'float8',
  runs: 'float8',
  failedRuns: 'float8',
  tokens: 'float8',
  credits: 'float8',
  deliveries: 'float8',
  failedDeliveries: 'float8',
} as const;

const ofTimes = `organization_id = :organizationId and environment = :environment and dimension = :dimension
      and starts_at >= :from and starts_at < :to`;

const findTimes = statement({
  name: 'usage.times',
  parameters: { dimension: typed<'day' | 'hour'>('text'), from: 'timestamptz', to: 'timestamptz' },
  row: { startsAt: 'timestamptz', ...amounts },
  text: `select starts_at as "startsAt", ${sums} from usage_count where ${ofTimes} group by starts_at order by starts_at`,
});

const findValues = statement({
  name: 'usage.values',
  parameters: { dimension: 'text', from: 'timestamptz', to: 'timestamptz', maxGroups: 'int' },
  row: { group: 'text', ...amounts },
  text: `with of_values as (
     select value, sum(requests) as requests, sum(runs) as runs, sum(failed_runs) as failed_runs, sum(tokens) as tokens,
            sum(credits) as credits, sum(deliveries) as deliveries, sum(failed_deliveries) as failed_deliveries
       from usage_count where ${ofTimes} group by value),
   placed as (
     select *, row_number() over (order by runs desc, credits desc, tokens desc, requests desc, value) as place from of_values)
   select case when place > :maxGroups then '${otherValues}' else value end as "group", ${sums}
     from placed group by 1 order by min(place)`,
});

const findTotals = statement({
  name: 'usage.totals',
  parameters: { dimension: typed<'day' | 'hour'>('text'), from: 'timestamptz', to: 'timestamptz' },
  row: amounts,
  text: `select ${sums} from usage_count where ${ofTimes}`,
});

export interface UsageSpan {
  /** Inclusive. */
  from: Date;
  /** Exclusive. */
  to: Date;
}

/** The tenant's use in this time, whole days. It lags by some seconds. */
export const usageBetween = async (scope: Scope, span: UsageSpan, unit: 'day' | 'hour'): Promise<UsageAmounts> =>
  (await scope.one(findTotals, { dimension: unit, ...span }))!;

/** The same, by a dimension: days and hours in their order, other groups by their use. */
export async function usageGroups(scope: Scope, dimension: UsageDimension, span: UsageSpan): Promise<UsageGroup[]> {
  if (dimension !== 'day' && dimension !== 'hour') return scope.rows(findValues, { dimension, maxGroups, ...span });
  const found = await scope.rows(findTimes, { dimension, ...span });
  return found.map(({ startsAt, ...used }) => ({
    group: dimension === 'day' ? startsAt.toISOString().slice(0, 10) : startsAt.toISOString(),
    ...used,
  }));
}

/** A year can be compared with the one before it in part; hours are for the present. */
export const keptDays = { days: 400, hours: 31 };

/** Removes counters of times that are long over. */
export const forgetOldCounts = removalOf({
  name: 'usage.forget_counts',
  table: 'usage_count',
  where: `starts_at < atelier_statement_now() - interval '${keptDays.days} days'
            or (starts_at < atelier_statement_now() - interval '${keptDays.hours + 1} days' and dimension in ('hour', 'error'))`,
});
