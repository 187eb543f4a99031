import type { Transaction } from '../database/scope.ts';
import { statement } from '../database/sql.ts';

// A separate statement: only the next one sees the commits of the previous holder of the lock. The locks are taken in
// their order, so that transactions that take several never deadlock.
const take = statement({
  name: 'tenant.lock',
  parameters: { names: 'text[]' },
  text: `select pg_advisory_xact_lock(lock.id)
     from (select distinct hashtextextended(concat_ws(':', :organizationId, :environment, what), 0) as id
             from unnest(:names) as what order by id offset 0) lock`,
});

/**
 * Takes an advisory lock of the tenant that the transaction holds until its commit; waits while another transaction holds
 * it. For rules about many rows, such as a limit on their number. The transaction may be started again for it.
 */
export const lockForTransaction = (tx: Transaction, what: string): Promise<void> => lockAllForTransaction(tx, [what]);

/** Takes several locks. A transaction calls it once, and does not call `lockForTransaction` for names of the same kind. */
export async function lockAllForTransaction(tx: Transaction, what: readonly string[]): Promise<void> {
  tx.requireLocally(what);
  await tx.rows(take, { names: what });
}

const takeForOrganization = statement({
  name: 'tenant.lock_organization',
  parameters: { what: 'text' },
  text: `select pg_advisory_xact_lock(hashtextextended(concat_ws(':', :organizationId, :what), 0))
    where :environment is not null`,
});

/** The same for what the organization's environments have in common. A transaction calls it after locks of rows. */
export async function lockOrganizationForTransaction(tx: Transaction, what: string): Promise<void> {
  tx.requireLocally([what]);
  await tx.rows(takeForOrganization, { what });
}
