import { clock } from '../platform/clock.ts';
import type { Database } from '../platform/database/database.ts';
import { Scope } from '../platform/database/scope.ts';
import { sqlOn, systemStatement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import { newId } from '../platform/ids.ts';
import type { Environment } from '../platform/tenant.ts';
import { expireCredits } from './reservations.ts';

const findExpired = systemStatement({
  name: 'credit.expired',
  parameters: { now: 'timestamptz', limit: 'int' },
  row: { organizationId: 'uuid', environment: typed<Environment>('text'), key: 'text' },
  text: `select organization_id as "organizationId", environment, key from credit_hold
    where expires_at <= :now order by expires_at limit :limit`,
});

/**
 * Expires overdue reservations of all tenants, oldest first, and returns their credits. Safe to run concurrently. Each
 * reservation is a transaction of its own, so that accounts are locked briefly.
 * @param limit maximum number of reservations
 * @returns the number of expired reservations; if it equals `limit`, there may be more
 */
export async function expireReservations(database: Database, limit: number, now = clock.date()): Promise<number> {
  const expired = await sqlOn(database.pool).rows(findExpired, { now, limit });
  const correlationId = newId();
  let ended = 0;
  for (const { key, ...tenant } of expired) {
    if (await expireCredits(new Scope(database, tenant, correlationId), key, now)) ended++;
  }
  return ended;
}
