import type pg from 'pg';
import { until } from './until.ts';

/**
 * Ends the sessions that wait for the locks of `holder`, as a restart of PostgreSQL does: what they asked for fails, and their
 * connections are lost.
 */
export async function cutWaiting(holder: pg.Client): Promise<void> {
  await until('a session waits', async () => {
    const { rowCount } = await holder.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where pg_backend_pid() = any(pg_blocking_pids(pid))',
    );
    return rowCount! > 0;
  });
}
