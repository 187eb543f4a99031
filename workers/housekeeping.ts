import { setTimeout as sleep } from 'node:timers/promises';
import type { Services } from '../src/services.ts';
import { type HousekeepingArgs, housekeepingWorkflows } from '../src/temporal/contracts/housekeeping.ts';
import { startActivityWorker } from './activity-worker.ts';
import type { RoleContext, RunningRole } from './running-role.ts';
import { ensureSchedule, triggerSchedule } from './schedules.ts';

/** One tick at a time, and one that an operator triggered. */
const ticksAtOnce = 2;
const drainEveryMs = 2_000;

/**
 * Does the work that committed transactions enqueued and no process has done yet. The next drain does not wait for the one
 * before: a kind that hangs delays only itself.
 */
async function drainRepeatedly({ background, drain, log }: Services, stopping: AbortSignal): Promise<void> {
  const drainOnce = async () => {
    const { drained } = await drain();
    if (drained > 0) log.info({ drained }, 'outbox drained');
  };
  while (!stopping.aborted) {
    background.run('drain of the outbox', drainOnce());
    await sleep(drainEveryMs, undefined, { signal: stopping }).catch(() => {});
  }
}

/**
 * Drains the outbox, and runs the sweeps when the Schedule `housekeeping` says so.
 *
 * One Schedule for all sweeps, as often as the most frequent of them: a tick costs the Temporal server about 24 ms, so one
 * a minute is 0.04 % of a core, and a Schedule for each sweep would cost ten times that. The outbox is no sweep: it is
 * drained every two seconds, when Temporal is down too.
 */
export async function startHousekeeping(context: RoleContext): Promise<RunningRole> {
  const { services, queue } = context;
  const stopping = new AbortController();
  const worker = await startActivityWorker(context, ticksAtOnce);
  const tickMs = Math.min(...services.sweeps.map(({ everyMs }) => everyMs));
  const args: HousekeepingArgs = { queue, tickMs };
  const schedule = await ensureSchedule(services, {
    workflowType: housekeepingWorkflows.housekeeping,
    everyMs: tickMs,
    args: [args],
  });
  // What became due while no worker ran is done at once.
  await triggerSchedule(schedule);
  const draining = drainRepeatedly(services, stopping.signal);
  return {
    failed: worker.failed,
    async stop() {
      stopping.abort();
      await Promise.all([worker.stop(), draining]);
      await services.sweepRunner.settled();
    },
  };
}
