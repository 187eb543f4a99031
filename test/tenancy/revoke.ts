import type { Database } from '../../src/platform/database/database.ts';
import { revokeKey } from '../../src/tenancy/keys.ts';
import { until } from '../until.ts';

/**
 * Revokes a key. On a busy machine PostgreSQL may answer too late for its announcement: then it is revoked again, as
 * whoever gets the error does.
 */
export const revoke = (database: Database, id: string) =>
  until('the key is revoked', () =>
    revokeKey(database, id).catch((error: Error) => {
      if (!/timeout/i.test(error.message)) throw error;
      return undefined;
    }),
  );
