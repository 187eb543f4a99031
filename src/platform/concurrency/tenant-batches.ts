import type { Database } from '../database/database.ts';
import { Scope, type Transaction } from '../database/scope.ts';
import { newId } from '../ids.ts';
import type { Tenant } from '../tenant.ts';

/**
 * Processes rows of several tenants that a sweep found: those of each tenant in a transaction of its own scope.
 * @param work resolves with how many rows it changed
 * @returns how many rows were changed in all
 */
export async function changeByTenant<Row extends Tenant>(
  database: Database,
  rows: readonly Row[],
  work: (tx: Transaction, rows: readonly Row[]) => Promise<number>,
): Promise<number> {
  let changed = 0;
  for (const ofTenant of Map.groupBy(rows, (row) => `${row.organizationId} ${row.environment}`).values()) {
    const [{ organizationId, environment }] = ofTenant as [Row];
    const scope = new Scope(database, { organizationId, environment }, newId());
    changed += await scope.transaction((tx) => work(tx, ofTenant));
  }
  return changed;
}
