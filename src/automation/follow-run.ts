import { databaseFailure } from '../platform/database-errors.ts';
import type { Scope } from '../platform/scope.ts';
import { statement } from '../platform/sql.ts';
import { eventsOf, type RunEvent } from './core/run-events.ts';
import { isTerminal } from './core/run-status.ts';
import { isRunNotFound } from './errors.ts';
import type { RunWaiters } from './run-waiters.ts';
import { getRun, type RunDetail, type StepResult } from './runs.ts';

/** How often a run is looked at that somebody follows and another process works on. */
const lookEveryMs = 500;

const findMark = statement<{ mark: string }>(
  'run.mark',
  `select concat_ws(' ', r.status, r.finished_steps, r.current_step) as mark
     from run r join automation a on a.id = r.automation_id and a.deleted_at is null
    where r.organization_id = $1 and r.environment = $2 and r.id = $3`,
);

/** Something that happened, and the run as it was read when that was seen. */
export interface SeenEvent extends RunEvent<StepResult> {
  run: RunDetail;
}

/** What is read while somebody follows; a database that is away for a moment is asked again, a deleted run is over. */
async function patiently<Found>(read: () => Promise<Found>): Promise<Found | 'later' | 'gone'> {
  try {
    return await read();
  } catch (error) {
    if (isRunNotFound(error)) return 'gone';
    if (databaseFailure(error)?.code === 'service_unavailable') return 'later';
    throw error;
  }
}

/**
 * Everything that happens in a run, from the event after the one numbered `after`, until its end or `stop`.
 * @param run as it was first read
 */
export async function* followRun(
  waiters: RunWaiters,
  scope: Scope,
  run: RunDetail,
  after: number,
  stop: AbortSignal,
): AsyncGenerator<SeenEvent> {
  let seen = run;
  let told = after;
  let mark: string | undefined;
  while (!stop.aborted) {
    for (const event of eventsOf(seen)) {
      if (event.id <= told) continue;
      told = event.id;
      yield { ...event, run: seen };
    }
    if (isTerminal(seen.status)) return;
    await waiters.nextSign(run.id, lookEveryMs, stop);
    const found = await patiently(() => scope.one(findMark, run.id));
    if (found === undefined || found === 'gone') return;
    if (found === 'later' || found.mark === mark) continue;
    const read = await patiently(() => getRun(scope, run.id));
    if (read === 'gone') return;
    if (read === 'later') continue;
    mark = found.mark;
    seen = read;
  }
}
