import { clockChannel, clockFollowedChannel, setClockOffset } from './clock.ts';
import type { Database } from './database/database.ts';
import type { Notifications } from './database/notifications.ts';
import { sqlOn, systemStatement } from './database/sql.ts';

const findOffset = systemStatement({
  name: 'clock.offset',
  row: { ms: 'float8' },
  text: 'select (extract(epoch from atelier_statement_now() - statement_timestamp()) * 1000)::float8 as ms',
});

/**
 * From now on the clock of this process agrees with that of its database, which a test may advance. Only processes with
 * `NODE_ENV=test` and tests call it.
 */
export async function followClock(database: Database, notifications: Notifications): Promise<void> {
  const follow = async () => setClockOffset((await sqlOn(database.pool).one(findOffset))!.ms);
  await notifications.on(clockChannel, async (advance) => {
    await follow();
    await notifications.send(clockFollowedChannel, advance);
  });
  // After it listens: an advance in between is read here.
  await follow();
}
