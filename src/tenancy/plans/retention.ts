import { changeByTenant } from '../../platform/concurrency/tenant-batches.ts';
import { inBatches } from '../../platform/database/batches.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Transaction } from '../../platform/database/scope.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Environment, Tenant } from '../../platform/tenant.ts';
import { tenancyLimits } from '../core/limits.ts';

/** Rows of tenants that expire a number of days after their end. The plan says how many. */
interface KeptRows<Also extends string> {
  table: string;
  /** The column of their end. For `removalByPlan` an index has it behind the organization. */
  endedAt: string;
  /** Further UUIDs that the removal needs: columns by name. */
  also?: Readonly<Record<Also, string>>;
  /** The column that says how many rows are removed with one: see `changeByTenant`. */
  weight?: string;
}

/** @returns a function that removes the expired rows of all tenants, and resolves with their number */
export function removalByPlan<const Also extends string = never>({
  table,
  endedAt,
  also,
  weight = '0',
}: KeptRows<Also>) {
  const named = Object.entries<string>(also ?? {});
  // Each organization costs one index lookup, however much it stores.
  const findOld = systemStatement({
    name: `${table}.find_old`,
    parameters: { retentionDaysByPlan: 'jsonb', limit: 'int' },
    row: {
      ...(Object.fromEntries(named.map(([name]) => [name, 'uuid'])) as Record<Also, 'uuid'>),
      organizationId: 'uuid',
      environment: typed<Environment>('text'),
      id: 'uuid',
      weight: 'int' as const,
    },
    text: `select o.id as "organizationId", r.environment, r.id, r.weight${named.map(([name, column]) => `, r.${column} as "${name}"`).join('')}
     from organization o
     join jsonb_each_text(:retentionDaysByPlan) as kept (plan, days) on kept.plan = o.plan
    cross join lateral (
      select id, environment, ${weight} as weight${named.map(([, column]) => `, ${column}`).join('')} from ${table}
       where organization_id = o.id and ${endedAt} < atelier_statement_now() - make_interval(days => kept.days::int)
       order by ${endedAt} limit :limit) r
    limit :limit`,
  });
  type Row = Tenant & { id: string; weight: number } & Record<Also, string>;
  return (
    database: Database,
    remove: (tx: Transaction, rows: readonly Row[]) => Promise<number>,
    size?: number,
  ): Promise<number> =>
    inBatches(async (limit) => {
      const retentionDaysByPlan = tenancyLimits.retentionDays.byPlan();
      const old = await sqlOn(database.pool).rows(findOld, { retentionDaysByPlan, limit });
      // The compiler does not know the columns of a name that it does not know.
      return changeByTenant(database, old as unknown as Row[], remove);
    }, size);
}

/** The same for tables with few rows: no index has their end, and no rows of other tables are removed with them. */
export function removalOfFewByPlan({ table, endedAt }: KeptRows<never>): (database: Database) => Promise<number> {
  const removeOld = systemStatement({
    name: `${table}.remove_old`,
    parameters: { days: 'jsonb', limit: 'int' },
    row: { count: 'int' },
    text: `with old as (
     select r.id from ${table} r join organization o on o.id = r.organization_id
      where r.${endedAt} < atelier_now() - make_interval(days => (:days ->> o.plan)::int) limit :limit),
   gone as (delete from ${table} where id in (select id from old) returning 1)
   select count(*)::int as count from gone`,
  });
  return (database) =>
    inBatches(async (limit) => {
      const days = tenancyLimits.retentionDays.byPlan();
      return (await sqlOn(database.pool).one(removeOld, { days, limit }))!.count;
    });
}
