import pg from 'pg';
import { clockChannel, clockFollowedChannel, setClockOffset } from '../src/platform/clock.ts';
import { until } from './until.ts';

const clockOf = (ms: number) => `create or replace function atelier_now() returns timestamptz language sql volatile
    parallel safe as 'select clock_timestamp() + interval ''${ms} milliseconds''';
  create or replace function atelier_statement_now() returns timestamptz language sql stable
    parallel safe as 'select statement_timestamp() + interval ''${ms} milliseconds''';`;

const readOffset = `select (extract(epoch from atelier_statement_now() - statement_timestamp()) * 1000)::float8 as ms`;

/** Each process of the product has one connection for its notifications, on which it says that its clock follows. */
const processes = `select pid from pg_stat_activity
   where datname = current_database() and application_name = 'atelier notifications'`;

/**
 * Advances the clock of a database of the test's own, of all processes of the product that use it, and of this one. Resolves
 * when all of them have the new time. Temporal's time, and timers that run, do not change.
 */
export async function advance({ ownerUrl }: { ownerUrl: string }, ms: number): Promise<void> {
  const client = new pg.Client({ connectionString: ownerUrl });
  await client.connect();
  try {
    const followed = new Set<number>();
    client.on('notification', ({ processId }) => followed.add(processId));
    await client.query(`listen ${clockFollowedChannel}`);
    const { rows: before } = await client.query<{ ms: number }>(readOffset);
    const offsetMs = Math.round(before[0]!.ms + ms);
    await client.query(clockOf(offsetMs));
    setClockOffset(offsetMs);
    await until('every process has the new time', async () => {
      // A process that starts or reconnects may miss one notification.
      await client.query('select pg_notify($1, $2)', [clockChannel, '']);
      const { rows } = await client.query<{ pid: number }>(processes);
      return rows.every(({ pid }) => followed.has(pid));
    });
  } finally {
    await client.end();
  }
}
