import { changeByTenant } from '../../platform/concurrency/tenant-batches.ts';
import type { Database } from '../../platform/database/database.ts';
import { sqlOn, statement, systemStatement } from '../../platform/database/sql.ts';
import { typed } from '../../platform/database/sql-types.ts';
import type { Environment } from '../../platform/tenant.ts';
import { maxVersions } from '../versions/versions.ts';

/** Workflows that one look reads. */
const perLook = 200;

/** Bytes of the replaced versions of one workflow, as they are stored, beyond which the oldest are removed too. */
const maxVersionBytes = 64 * 1024 * 1024;

const isUnused = (definition: string) => `
  not exists (select from automation a where a.id = ${definition}.automation_id and a.definition_id = ${definition}.id)
  and not exists (select from run where definition_id = ${definition}.id)`;

const bytes = ['steps', 'config', 'inputs', 'concurrency']
  .map((column) => `coalesce(pg_column_size(v.${column}), 0)`)
  .join(' + ');

const nextPage = systemStatement({
  name: 'definition.page_of_workflows',
  parameters: { after: 'uuid' },
  row: { last: 'uuid?', count: 'int' },
  text: `select (array_agg(id order by id desc))[1] as last, count(*)::int as count
     from (select id from automation where id > :after order by id limit ${perLook}) page`,
});

// A request that reads a definition may create a run of it soon after: a definition counts as unused an hour after its
// replacement.
const findUnused = systemStatement({
  name: 'definition.find_unused',
  parameters: { after: 'uuid', last: 'uuid' },
  row: { id: 'uuid', organizationId: 'uuid', environment: typed<Environment>('text') },
  text: `select d.id, d.organization_id as "organizationId", d.environment
     from automation a
     join definition current on current.id = a.definition_id
    cross join lateral (
      select v.*, sum(${bytes}) over (order by v.version desc) as bytes from definition v where v.automation_id = a.id) d
    where a.id > :after and a.id <= :last
      and (d.version <= current.version - ${maxVersions} or d.bytes > ${maxVersionBytes})
      and exists (select from definition later where later.automation_id = a.id and later.version = d.version + 1
                     and later.id < (select uuidv7(interval '-1 hour')))
      and ${isUnused('d')}`,
});

const remove = statement({
  name: 'definition.remove_unused',
  parameters: { ids: 'uuid[]' },
  row: { count: 'int' },
  text: `with gone as (
     delete from definition d
      where d.organization_id = :organizationId and d.environment = :environment and d.id = any(:ids) and ${isUnused('d')} returning 1)
   select count(*)::int as count from gone`,
});

/**
 * Removes the versions of workflows, of all tenants, that are no longer kept and that no run names: reads all
 * workflows, a page at a time.
 * @returns how many
 */
export async function removeUnusedDefinitions(database: Database): Promise<number> {
  const sql = sqlOn(database.pool);
  let removed = 0;
  for (let after = '00000000-0000-0000-0000-000000000000'; ; ) {
    const page = (await sql.one(nextPage, { after }))!;
    if (page.last === null) return removed;
    const unused = await sql.rows(findUnused, { after, last: page.last });
    removed += await changeByTenant(database, unused, async (tx, some) => {
      const ids = some.map(({ id }) => id);
      return (await tx.one(remove, { ids }))!.count;
    });
    if (page.count < perLook) return removed;
    after = page.last;
  }
}
