import { setTimeout as sleep } from 'node:timers/promises';
import { drainRepeatedly } from '../src/operations/drain-repeatedly.ts';
import { type HousekeepingArgs, housekeepingWorkflows } from '../src/temporal/contracts/housekeeping.ts';
import { priorities } from '../src/temporal/contracts/priorities.ts';
import { queues } from '../src/temporal/contracts/queues.ts';
import { triggerSchedule } from '../src/temporal/schedules.ts';
import { startActivityWorker } from './activity-worker.ts';
import { allEnded, type RoleContext, type RunningRole } from './running-role.ts';
import { ensureSchedule } from './schedules.ts';

/** One tick at a time, and one that an operator triggered. */
const maxConcurrentTicks = 2;
const shortestTickMs = 60_000;

/** The next start does not wait for the one before. @param work never fails */
async function repeat(everyMs: number, stopping: AbortSignal, work: () => void): Promise<void> {
  while (!stopping.aborted) {
    work();
    await sleep(everyMs, undefined, { signal: stopping }).catch(() => {});
  }
}

/**
 * Drains the outbox, and runs the sweeps when the Schedule `housekeeping` says so.
 *
 * One Schedule for all sweeps, as often as the most frequent of them: a tick costs the Temporal server about 24 ms, so one
 * a minute is 0.04 % of a core, and a Schedule for each sweep would cost ten times that. The outbox is no sweep: it is
 * drained when an entry becomes due, also while Temporal is down. Sweeps that are wanted more often than once a minute are
 * run by a timer of each process as well.
 */
export async function startHousekeeping(context: RoleContext): Promise<RunningRole> {
  const { services, queue } = context;
  const stopping = new AbortController();
  const worker = await startActivityWorker(context, maxConcurrentTicks);
  const tickMs = Math.max(shortestTickMs, Math.min(...services.sweeps.map(({ everyMs }) => everyMs)));
  const args: HousekeepingArgs = { queue, tickMs };
  const { wanted, known } = await ensureSchedule(services, {
    workflowType: housekeepingWorkflows.housekeeping,
    queue: queues.runs,
    priority: priorities.prompt,
    everyMs: tickMs,
    args: [args],
  });
  // What became due while no worker ran is done at once, unless an operator paused the Schedule.
  if (!known.state.paused) await triggerSchedule(services.temporal, wanted.id);
  const draining = drainRepeatedly(services, stopping.signal);
  const frequent = services.sweeps
    .filter(({ everyMs }) => everyMs < tickMs)
    .map((sweep) => repeat(sweep.everyMs, stopping.signal, () => void services.sweepRunner.runOne(sweep)));
  return {
    failed: worker.failed,
    async stop() {
      stopping.abort();
      try {
        await allEnded([worker.stop(), draining, ...frequent]);
      } finally {
        await services.sweepRunner.settled();
      }
    },
  };
}
