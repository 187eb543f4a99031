import { randomInt } from 'node:crypto';
import type { Database } from '../src/platform/database/database.ts';
import { holdsChannel, releaseHold } from '../src/platform/parts/holds.ts';

export interface Hold {
  /** A sandbox word: what has it in its prompt or its payload is under way until the hold is released. */
  word: string;
  release(): Promise<void>;
}

/** A hold for the processes of the product that use this database. */
export function newHold(database: Database): Hold {
  const name = String(randomInt(2 ** 48 - 1));
  return {
    word: `sandbox:hold=${name}`,
    async release() {
      // A test may have enabled holds in its own process.
      releaseHold(name);
      const notify = () => database.pool.query('select pg_notify($1, $2)', [holdsChannel, name]);
      await notify();
      // A process that starts or reconnects later would miss a single notification.
      const repeating = setInterval(() => {
        if (database.pool.ending) clearInterval(repeating);
        else notify().catch(() => {});
      }, 1_000);
      repeating.unref();
    },
  };
}
