import type { Database } from '../../platform/database/database.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import { feedDays } from './recording.ts';

/** For SQL: all transactions with a lower number have ended, and their commits are visible. */
export const settledTransaction = 'pg_snapshot_xmin(pg_current_snapshot())::text::bigint';

const tick = systemStatement({
  name: 'transaction_clock.tick',
  row: { count: 'int' },
  text: `with old as (
     delete from transaction_clock where at < (
       select at from transaction_clock where at <= atelier_statement_now() - interval '${feedDays} days' order by at desc limit 1)
     returning 1),
   added as (
     insert into transaction_clock (at, transaction_number) select atelier_statement_now(), ${settledTransaction}
     on conflict (at) do nothing returning 1)
   select ((select count(*) from old) + (select count(*) from added))::int as count`,
});

/**
 * Records which transactions have ended by now, and removes records that no list needs any more. @returns how many rows
 * changed
 */
export const tickTransactionClock = async (database: Database): Promise<number> =>
  (await sqlOn(database.pool).one(tick))!.count;

const findOldest = systemStatement({
  name: 'transaction_clock.oldest',
  row: { oldest: 'bigint', settled: 'bigint' },
  text: `select coalesce((select transaction_number from transaction_clock
                        where at <= atelier_statement_now() - interval '${feedDays} days' order by at desc limit 1), 0) as oldest,
          ${settledTransaction} as settled`,
});

/** The first transaction whose events are listed, and the first that may not have ended. */
export async function listedTransactions(database: Database): Promise<{ oldest: bigint; settled: bigint }> {
  const { oldest, settled } = (await sqlOn(database.pool).one(findOldest))!;
  return { oldest: BigInt(oldest), settled: BigInt(settled) };
}
