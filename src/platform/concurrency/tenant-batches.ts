import type { Database } from '../database/database.ts';
import { Scope, type Transaction } from '../database/scope.ts';
import { newId } from '../ids.ts';
import type { Tenant } from '../tenant.ts';
import { attemptAll } from './attempt-all.ts';
import { portionsOf } from './portions.ts';

/** A row that a sweep found. `weight`: how many rows belong to it, where that may be many. */
type FoundRow = Tenant & { weight?: number };

/**
 * Processes rows of several tenants that a sweep found: those of each tenant in transactions of its own scope, as many as
 * their weights need. A failure holds up no other transaction.
 * @param work resolves with how many rows it changed
 * @returns how many rows were changed in all
 * @throws the first failure, after the others were tried
 */
export async function changeByTenant<Row extends FoundRow>(
  database: Database,
  rows: readonly Row[],
  work: (tx: Transaction, rows: readonly Row[]) => Promise<number>,
): Promise<number> {
  let changed = 0;
  const byTenant = Map.groupBy(rows, (row) => `${row.organizationId} ${row.environment}`);
  const portions = [...byTenant.values()].flatMap((ofTenant) => portionsOf(ofTenant, ({ weight = 0 }) => weight));
  await attemptAll(portions, async (portion) => {
    const [{ organizationId, environment }] = portion as [Row];
    const scope = new Scope(database, { organizationId, environment }, newId());
    changed += await scope.transaction((tx) => work(tx, portion));
  });
  return changed;
}
