import { randomInt } from 'node:crypto';
import type { Database } from '../src/platform/database/database.ts';
import { holdsChannel } from '../src/platform/parts/holds.ts';

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
      await database.pool.query('select pg_notify($1, $2)', [holdsChannel, name]);
    },
  };
}
