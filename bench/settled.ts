import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';

const lookEveryMs = 250;
const mostMs = 120_000;

/** Waits until nothing is left to do of what an item began: no open run, nothing to start. */
export async function untilSettled(pool: Pool): Promise<void> {
  const until = performance.now() + mostMs;
  while (performance.now() < until) {
    const { rows } = await pool.query<{ busy: boolean }>(
      `select exists (select from outbox)
              or exists (select from run r join automation a on a.id = r.automation_id
                          where r.status in ('queued', 'running') and a.deleted_at is null) as busy`,
    );
    if (!rows[0]?.busy) return;
    await sleep(lookEveryMs);
  }
}
