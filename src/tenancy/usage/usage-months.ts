import { removalOf } from '../../platform/database/remove-rows.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';

/** The first day of the current UTC month, as SQL. */
export const thisMonth = "date_trunc('month', atelier_now() at time zone 'UTC')::date";

/** A CTE that counts one run of the tenant for each row of `from`. */
export const countRuns = (from: string) =>
  `insert into usage_month (organization_id, environment, month, runs)
   select :organizationId, :environment, ${thisMonth}, count(*)::int from ${from} having count(*) > 0
   on conflict (organization_id, environment, month) do update set runs = usage_month.runs + excluded.runs`;

/** A CTE that counts the tokens of the parameter for the tenant, once for each row of `from`. */
export const countTokens = (parameter: string, from: string) =>
  `insert into usage_month (organization_id, environment, month, tokens)
   select :organizationId, :environment, ${thisMonth}, ${parameter} from ${from} where ${parameter} > 0
   on conflict (organization_id, environment, month) do update set tokens = usage_month.tokens + excluded.tokens`;

export interface Usage {
  /** The current UTC month: from its first day to the first day of the next one, `YYYY-MM-DD`. */
  period: { start: string; end: string };
  requests: number;
  runs: number;
  tokens: number;
}

const findUsage = statement({
  name: 'usage.find',
  row: { start: 'text', end: 'text', requests: 'numeric', runs: 'numeric', tokens: 'numeric' },
  text: `select ${thisMonth}::text as start, (${thisMonth} + interval '1 month')::date::text as end,
          coalesce(sum(requests), 0) as requests, coalesce(sum(runs), 0) as runs, coalesce(sum(tokens), 0) as tokens
     from usage_month
    where organization_id = :organizationId and environment = :environment and month = ${thisMonth}`,
});

/** The tenant's usage in this month. The count of requests lags by some seconds. */
export async function readUsage(scope: Scope): Promise<Usage> {
  const { start, end, requests, runs, tokens } = (await scope.one(findUsage))!;
  return { period: { start, end }, requests: Number(requests), runs: Number(runs), tokens: Number(tokens) };
}

/** Three years: the time for which an operator may have to account. */
const keptMonths = 36;

/** Removes the usage of months that are long over. */
export const forgetOldUsage = removalOf({
  name: 'usage.forget',
  table: 'usage_month',
  where: `month < (${thisMonth} - interval '${keptMonths} months')`,
});
