import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';

const lookEveryMs = 250;
const maxMs = 120_000;

/**
 * Restores the state of the database before an item: no webhook, no pending work, no dead rows, and statistics of every
 * table, so that plans of the next item do not depend on the timing of autovacuum.
 * @throws Error when work is left after two minutes
 */
export async function settle(pool: Pool): Promise<void> {
  await removeWebhooks(pool);
  await untilSettled(pool);
  await pool.query('vacuum (analyze)');
}

/** Waits until the work of an item has ended: no open run or generation, and none to start. */
export async function untilSettled(pool: Pool): Promise<void> {
  const until = performance.now() + maxMs;
  while (performance.now() < until) {
    const { rows } = await pool.query<{ busy: boolean }>(
      `select exists (select from outbox)
              or exists (select from run r join automation a on a.id = r.automation_id
                          where r.status in ('queued', 'running') and a.deleted_at is null)
              or exists (select from generation where status = 'processing') as busy`,
    );
    if (!rows[0]?.busy) return;
    await sleep(lookEveryMs);
  }
  throw new Error(`Runs, generations or outbox entries are left ${maxMs / 1000} s after the item.`);
}

/**
 * Removes all webhooks with what waits for them, and waits until their workflows have been told: the next item has the pace
 * of dead letters and of attempts to itself.
 */
async function removeWebhooks(pool: Pool): Promise<void> {
  await pool.query('delete from event_fan_out');
  await pool.query(
    `update webhook_subscription set is_active = false, deleted_at = now(), sealed_secret = null, sealed_headers = null,
            sealed_previous_secret = null, sealed_older_secret = null where deleted_at is null`,
  );
  await pool.query(
    `update delivery set status = 'failed', error_class = 'subscription_deleted', next_attempt_at = null, finished_at = now()
      where status in ('pending', 'retrying', 'dead_lettered')`,
  );
  const until = performance.now() + maxMs;
  const left = `select from delivery where status <> 'dead_lettered' and parked_at > '-infinity' limit 1`;
  while (performance.now() < until && (await pool.query(left)).rowCount) await sleep(lookEveryMs);
}

/** Waits until the sweep has counted all blocks of runs that have ended. */
export async function untilCounted(pool: Pool): Promise<void> {
  const until = performance.now() + maxMs;
  const left = `select from run r where r.number % 1000 = 0 and r.status not in ('queued', 'running')
    and not exists (select from run_block b where b.automation_id = r.automation_id and b.block = r.number / 1000 - 1) limit 1`;
  while (performance.now() < until && (await pool.query(left)).rowCount) await sleep(lookEveryMs);
}
