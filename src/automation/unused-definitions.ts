import type { Database } from '../platform/database.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import { changeByTenant } from '../platform/tenant-batches.ts';

interface UnusedDefinition extends Tenant {
  id: string;
}

/** Definitions that one look reads. */
const perLook = 2_000;

const isUnused = (definition: string) => `
  not exists (select from automation a where a.id = ${definition}.automation_id and a.definition_id = ${definition}.id)
  and not exists (select from run where definition_id = ${definition}.id)`;

// A request that reads a definition may create a run of it soon after: only what was replaced an hour ago counts as unused.
const findUnused = statement<UnusedDefinition & { isUnused: boolean }>(
  'definition.find_unused',
  `select d.id, d.organization_id as "organizationId", d.environment,
          exists (select from definition later where later.automation_id = d.automation_id and later.id > d.id
                     and later.id < (select uuidv7(interval '-1 hour')))
            and ${isUnused('d')} as "isUnused"
     from definition d where d.id > $1 and d.id < (select uuidv7(interval '-1 hour')) order by d.id limit ${perLook}`,
);

const remove = statement<{ count: number }>(
  'definition.remove_unused',
  `with gone as (
     delete from definition d
      where d.organization_id = $1 and d.environment = $2 and d.id = any($3) and ${isUnused('d')} returning 1)
   select count(*)::int as count from gone`,
);

/**
 * Removes the definitions that workflows had and no run names any more, of all tenants: reads all definitions, a page at a
 * time.
 * @returns how many
 */
export async function removeUnusedDefinitions(database: Database): Promise<number> {
  let removed = 0;
  for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
    const page = await sqlOn(database.pool).rows(findUnused, [after]);
    removed += await changeByTenant(
      database,
      page.filter((definition) => definition.isUnused),
      async (tx, unused) => {
        const ids = unused.map(({ id }) => id);
        return (await tx.one(remove, ids))!.count;
      },
    );
    if (page.length < perLook) return removed;
    after = page.at(-1)!.id;
  }
}
