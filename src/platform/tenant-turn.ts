import type { Transaction } from './scope.ts';
import { statement } from './sql.ts';

// A statement of its own: only the next one sees what the transaction before it committed. In the order of the locks, so
// that transactions that take several wait for each other and never in a circle.
const take = statement(
  'tenant.take_turns',
  `select pg_advisory_xact_lock(lock.id)
     from (select distinct hashtextextended(concat_ws(':', $1::uuid, $2::text, what), 0) as id
             from unnest($3::text[]) as what order by id offset 0) lock`,
);

/**
 * Lets transactions of a tenant that do the same thing take turns: waits until no other one has its turn, which lasts until
 * the commit. For rules about many rows, such as a greatest number. The transaction may be begun again for it.
 */
export const takeTurn = (tx: Transaction, what: string): Promise<void> => takeTurns(tx, [what]);

/** The same for several things at once. A transaction calls it once, and does not call `takeTurn` for a thing of their kind. */
export async function takeTurns(tx: Transaction, what: readonly string[]): Promise<void> {
  tx.requireLocally(what);
  await tx.rows(take, what);
}
