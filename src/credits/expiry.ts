import type { Database } from '../platform/database.ts';
import { newId } from '../platform/ids.ts';
import { Scope } from '../platform/scope.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import type { Tenant } from '../platform/tenant.ts';
import { expireCredits } from './reservations.ts';

const findExpired = statement<Tenant & { key: string }>(
  'credit.expired',
  `select organization_id as "organizationId", environment, key from credit_hold
    where expires_at <= $1 order by expires_at limit $2`,
);

/**
 * Ends reservations whose time is over, oldest first, and gives their credits back: whoever made them died, or forgot.
 * Across all tenants; any number of processes may do it at once. Each is a transaction of its own, so that no account is
 * locked for long.
 * @param limit how many at most
 * @returns how many it ended; as many as `limit` means that there may be more
 */
export async function expireReservations(database: Database, limit: number, now = new Date()): Promise<number> {
  const expired = await sqlOn(database.pool).rows(findExpired, [now, limit]);
  const correlationId = newId();
  let ended = 0;
  for (const { key, ...tenant } of expired) {
    if (await expireCredits(new Scope(database, tenant, correlationId), key, now)) ended++;
  }
  return ended;
}
