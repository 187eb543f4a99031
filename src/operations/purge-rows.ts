import type { Database } from '../platform/database/database.ts';
import { type Sql, sqlOn, systemStatement } from '../platform/database/sql.ts';
import type { TenantTable } from '../platform/database/tenant-tables.ts';
import { failPoint } from './fail-points.ts';

/** Rows that one statement removes. */
const batchSize = 500;
/** Maximum duration of one call for an organization: others follow. */
const perCallMs = 5_000;

type Removal = (sql: Sql, owners: readonly string[]) => Promise<number>;

/** Removes a batch of rows, with all that belongs to them. */
function removalOf({ name, column, children }: TenantTable): Removal {
  if (children.length === 0) {
    const remove = systemStatement({
      name: `purge.rows_of_${name}_by_${column}`,
      parameters: { owners: 'uuid[]' },
      row: { count: 'int' },
      text: `with gone as (
         delete from ${name} where ctid = any(array(select ctid from ${name} where ${column} = any(:owners) limit ${batchSize}))
         returning 1)
       select count(*)::int as count from gone`,
    });
    return async (sql, owners) => (await sql.one(remove, { owners }))!.count;
  }
  const find = systemStatement({
    name: `purge.${name}_ids`,
    parameters: { owners: 'uuid[]' },
    row: { id: 'uuid' },
    text: `select id from ${name} where ${column} = any(:owners) limit ${batchSize}`,
  });
  const remove = systemStatement({
    name: `purge.${name}`,
    parameters: { ids: 'uuid[]' },
    text: `delete from ${name} where id = any(:ids)`,
  });
  const removals = children.map(removalOf);
  return async (sql, owners) => {
    const ids = (await sql.rows(find, { owners })).map(({ id }) => id);
    if (ids.length === 0) return 0;
    for (const removal of removals) while ((await removal(sql, ids)) > 0);
    await sql.rows(remove, { ids });
    return ids.length;
  };
}

// The sweep of the storage removes the files, and their rows after them.
const markFiles = systemStatement({
  name: 'purge.mark_files',
  parameters: { organizationId: 'uuid' },
  row: { count: 'int' },
  text: `with marked as (
     update file set remove_at = atelier_now()
      where name = any(array(select name from file
                              where organization_id = :organizationId and (remove_at is null
                                or remove_at > atelier_now())
                              limit ${batchSize}))
     returning 1)
   select count(*)::int as count from marked`,
});

const hasFiles = systemStatement({
  name: 'purge.has_files',
  parameters: { organizationId: 'uuid' },
  row: { found: 'boolean' },
  text: 'select exists (select from file where organization_id = :organizationId) as found',
});

const removeOrganization = systemStatement({
  name: 'purge.organization',
  parameters: { organizationId: 'uuid' },
  row: { id: 'uuid' },
  text: 'delete from organization where id = :organizationId and purging_at is not null returning id',
});

/** Has all files of an organization removed. @returns how many batches */
export async function markFilesOf(database: Database, organizationId: string): Promise<number> {
  let batches = 0;
  while ((await sqlOn(database.pool).one(markFiles, { organizationId }))!.count > 0) batches++;
  return batches;
}

/**
 * Creates the function that removes rows of an organization, and the organization itself once no other row is left. It
 * resolves with the number of removed batches.
 */
export function rowPurge(
  tables: readonly TenantTable[],
): (database: Database, organizationId: string) => Promise<number> {
  const removals = tables.map(removalOf);
  return async (database, organizationId) => {
    const sql = sqlOn(database.pool);
    const end = performance.now() + perCallMs;
    let batches = 0;
    for (const removal of removals) {
      while ((await removal(sql, [organizationId])) > 0) {
        batches++;
        failPoint('organization.rows_removed');
        if (performance.now() > end) return batches;
      }
    }
    if ((await sql.one(hasFiles, { organizationId }))!.found) return batches;
    // The files that were removed since are no longer counted.
    for (const removal of removals) await removal(sql, [organizationId]);
    failPoint('organization.emptied');
    if (await sql.one(removeOrganization, { organizationId })) batches++;
    return batches;
  };
}
