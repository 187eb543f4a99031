import type { Transaction } from './scope.ts';
import { statement } from './sql.ts';

// A statement of its own: only the next one sees what the transaction before it committed.
const take = statement(
  'tenant.take_turn',
  `select pg_advisory_xact_lock(hashtextextended(concat_ws(':', $1::uuid, $2::text, $3::text), 0))`,
);

/**
 * Lets transactions of a tenant that do the same thing take turns: waits until no other one has its turn, which lasts until
 * the commit. For rules about many rows, such as a greatest number.
 */
export async function takeTurn(tx: Transaction, what: string): Promise<void> {
  await tx.rows(take, what);
}
