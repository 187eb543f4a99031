import type { Database } from '../../platform/database/database.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { TemporalClient } from '../../temporal/client.ts';
import { triggerByPush } from './temporal-schedule.ts';

interface PushServices {
  database: Database;
  temporal: TemporalClient;
  log: Log;
}

// The token of the push says which calendar it is, so no tenant is known before.
const find = systemStatement({
  name: 'calendar.pushed',
  parameters: { calendarId: 'uuid' },
  row: { id: 'uuid' },
  text: "select id from calendar where id = :calendarId and status not in ('auth_expired', 'disconnected')",
});
const forgetChannel = systemStatement({
  name: 'calendar.channel_lost',
  parameters: { calendarId: 'uuid' },
  text: 'update calendar set channel_ends_at = null where id = :calendarId',
});

/**
 * A provider reports a change of a calendar, which is read now. If the sync fails to start, the Schedule runs it later.
 * @param isLost whether the provider will push no more, so that the next sync asks it to
 */
export async function calendarPushed(
  { database, temporal, log }: PushServices,
  calendarId: string,
  { isLost = false } = {},
): Promise<void> {
  const sql = sqlOn(database.pool);
  if (!(await sql.one(find, { calendarId }))) return;
  if (isLost) await sql.rows(forgetChannel, { calendarId });
  await triggerByPush(temporal, calendarId).catch((error) => {
    log.warn({ err: error, calendarId }, 'a push could not start a sync');
  });
}
