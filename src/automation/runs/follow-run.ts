import type { Waiters } from '../../platform/concurrency/waiters.ts';
import { readPatiently } from '../../platform/database/database-errors.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { eventsOf, type RunEvent } from '../core/run-events.ts';
import { isTerminal } from '../core/run-status.ts';
import { isRunNotFound } from '../errors.ts';
import { getRun, type RunDetail, type StepResult, type WaitingFor } from './runs.ts';

/** How often a followed run is polled while another process executes it. */
export const lookEveryMs = 500;

const findMark = statement({
  name: 'run.mark',
  parameters: { runId: 'uuid' },
  row: { mark: 'text' },
  text: `select concat_ws(' ', r.status, r.finished_steps, r.current_step) as mark
     from run r join automation a on a.id = r.automation_id and a.deleted_at is null
    where r.organization_id = :organizationId and r.environment = :environment and r.id = :runId`,
});

/** An event, and the run as it was read with it. */
export interface SeenEvent extends RunEvent<StepResult> {
  run: RunDetail;
  /** The current or past wait of the step. */
  wait?: Omit<WaitingFor, 'stepId' | 'path'> | undefined;
  /** Whether the event after it was read with it, so that both may be sent together. */
  isFollowed?: boolean;
}

/** Reads for a follower: `later` while the database is unavailable, `gone` if the run was deleted. */
export async function readUnlessGone<Found>(read: () => Promise<Found>): Promise<Found | 'later' | 'gone'> {
  try {
    return await readPatiently(read, 'later');
  } catch (error) {
    if (isRunNotFound(error)) return 'gone';
    throw error;
  }
}

/**
 * The events of a run after the event numbered `after`, until the run ends or `stop` is aborted.
 * @param run as it was first read
 */
export async function* followRun(
  waiters: Waiters,
  scope: Scope,
  run: RunDetail,
  after: number,
  stop: AbortSignal,
): AsyncGenerator<SeenEvent> {
  let seen = run;
  let lastId = after;
  let mark: string | undefined;
  const watch = waiters.watch(run.id);
  try {
    while (!stop.aborted) {
      for (const event of eventsOf(seen)) {
        if (event.id <= lastId) continue;
        lastId = event.id;
        yield { ...event, run: seen };
      }
      if (isTerminal(seen.status)) return;
      await watch.changed(lookEveryMs, stop);
      const found = await readUnlessGone(() => scope.one(findMark, { runId: run.id }));
      if (found === undefined || found === 'gone') return;
      if (found === 'later' || found.mark === mark) continue;
      const read = await readUnlessGone(() => getRun(scope, run.id));
      if (read === 'gone') return;
      if (read === 'later') continue;
      mark = found.mark;
      seen = read;
    }
  } finally {
    watch.close();
  }
}
