import type { EntitySchema } from '@mikro-orm/postgresql';
import type { RowBounds } from './row-bound.ts';

/** A table that is emptied when an organization is deleted. */
export interface TenantTable {
  name: string;
  /** The column that names the organization, or the row of the table above. */
  column: string;
  /** Emptied before the rows that they belong to. */
  children: readonly TenantTable[];
}

/**
 * The tables of a part that are emptied when an organization is deleted, in their order.
 * @throws Error when a table goes with one that is not emptied by its column `organization_id`, or with a part of it
 */
export function tenantTablesOf(entities: readonly EntitySchema[], bounds: RowBounds): TenantTable[] {
  const ofTenants = new Set(
    entities.filter(({ meta }) => 'organizationId' in meta.properties).map(({ meta }) => meta.tableName),
  );
  const declared = Object.entries(bounds).filter(([name, { purge }]) => ofTenants.has(name) && purge !== 'by the part');
  const left = new Set(declared.map(([name]) => name));
  const build = (name: string, column: string): TenantTable => {
    left.delete(name);
    const children = declared.flatMap(([child, { purge }]) =>
      typeof purge === 'object' && purge.with === name ? [build(child, purge.column)] : [],
    );
    return { name, column, children };
  };
  const tables = declared.flatMap(([name, { purge }]) => (purge ? [] : [build(name, 'organization_id')]));
  if (left.size > 0) throw new Error(`Nothing empties ${[...left].join(', ')} when an organization is deleted.`);
  return tables;
}
