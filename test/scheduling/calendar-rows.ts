import type { Database } from '../../src/platform/database/database.ts';
import { newId } from '../../src/platform/ids.ts';
import { calendarIds, hostIds } from '../../src/scheduling/core/ids.ts';

/**
 * Writes a calendar as connecting an account would have, before its first sync.
 * @param host in either form
 * @returns its id
 */
export async function addCalendar(
  { pool }: Database,
  host: string,
  { service = 'google', createdAt = new Date().toISOString() }: { service?: string; createdAt?: string } = {},
): Promise<string> {
  const id = newId();
  await pool.query(
    `insert into calendar (id, organization_id, environment, host_id, connection_id, service, name, status,
                           follow_changes, generation, created_at, updated_at)
     select $1, organization_id, environment, id, $3, $4, $6, 'syncing', false, 0, $5, $5
       from scheduling_host where id = $2`,
    [id, hostIds.parse(host), newId(), service, createdAt, `Sandbox (${service})`],
  );
  return calendarIds.format(id);
}
