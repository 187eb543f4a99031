import { queues } from '../src/temporal/contracts/queues.ts';
import type { RoleContext, RunningRole } from './running-role.ts';
import { startUpgradingWorker } from './upgrading-worker.ts';
import type { WorkflowSlots } from './workflow-worker.ts';

/**
 * Activities ask providers and store files; the pool of renderings bounds concurrent computations. A task may last as
 * long as an instant generation, and an eager start that finds no free slot is dispatched later than others. There are
 * more slots than messages and voice calls that any plan may have under way, so that one organization does not hold all
 * of them.
 */
const slots: WorkflowSlots = { activities: 500, tasks: 100, cached: 200, polls: 4 };

/** Makes generations and voice calls, replies to messages, and calls the tools of steps. */
export async function startGenerationWorker(context: RoleContext): Promise<RunningRole> {
  const { activeRuns, database, log } = context.services;
  const worker = await startUpgradingWorker(context, queues.generation, slots, true);
  // Steps whose tools are called here keep the places of their runs.
  const stopping = new AbortController();
  const tending = activeRuns.keepTending(database, log, stopping.signal);
  return {
    ...worker,
    async stop() {
      await worker.stop();
      stopping.abort();
      await tending;
    },
  };
}
