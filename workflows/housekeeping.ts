import { proxyActivities, setCurrentDetails, setWorkflowOptions, workflowInfo } from '@temporalio/workflow';
import type { HousekeepingActivities } from '../activities/housekeeping.ts';
import type { HousekeepingArgs, SweepResult } from '../src/temporal/contracts/housekeeping.ts';
import { queues } from '../src/temporal/contracts/queues.ts';

function outcomeOf({ status, changed, failure }: SweepResult): string {
  if (status === 'running') return 'still running';
  return status === 'done' ? `${changed} changed` : `**failed**: ${failure?.replaceAll('\n', ' ')}`;
}

const tableOf = (results: SweepResult[]): string =>
  [
    '| sweep | outcome | took | started |',
    '|---|---|---|---|',
    ...results.map((result) => {
      const took = result.durationMs === undefined ? '' : `${result.durationMs} ms`;
      return `| ${result.name} | ${outcomeOf(result)} | ${took} | ${result.startedAt} |`;
    }),
  ].join('\n');

/**
 * True for a start by the Schedule, whose time is a multiple of the interval; false for an operator's start, except in
 * the very second of a tick: Temporal does not say who started it.
 */
function isTick(tickMs: number): boolean {
  const [dueAt] = (workflowInfo().searchAttributes.TemporalScheduledStartTime ?? []) as Date[];
  return dueAt !== undefined && dueAt.getTime() % tickMs === 0;
}

/**
 * One tick of housekeeping: runs the sweeps that are due, or all of them when an operator triggers the Schedule or starts
 * this by hand. The result is the latest run of every sweep.
 */
export async function housekeeping(args?: HousekeepingArgs | null): Promise<SweepResult[]> {
  const { queue = queues.housekeeping.name, tickMs = 60_000 } = args ?? {};
  const { runSweeps } = proxyActivities<HousekeepingActivities>({
    taskQueue: queue,
    scheduleToStartTimeout: '1 minute',
    startToCloseTimeout: '30 seconds',
    retry: { initialInterval: '1 second', maximumAttempts: 3 },
  });
  const results = await runSweeps({ all: !isTick(tickMs), tickMs });
  setCurrentDetails(tableOf(results));
  return results;
}
// A tick that a rollout interrupts is finished by the new version.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, housekeeping);
