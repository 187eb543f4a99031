import type { Database } from './database.ts';
import { systemStatement } from './sql.ts';
import { systemTransaction, type UnitOfWork } from './unit-of-work.ts';

const tryLock = systemStatement({
  name: 'sweep.try_lock',
  parameters: { name: 'text' },
  row: { isMine: 'boolean' },
  text: 'select pg_try_advisory_xact_lock(hashtext(:name)) as "isMine"',
});

/**
 * Does a transaction of a sweep, unless another process is doing one of the sweep with this name.
 * @returns what `work` returns, or `otherwise`
 */
export const withSweepLock = <T>(
  database: Database,
  name: string,
  work: (unit: UnitOfWork) => Promise<T>,
  otherwise: T,
): Promise<T> =>
  systemTransaction(database, async (unit) => ((await unit.one(tryLock, { name }))!.isMine ? work(unit) : otherwise));
