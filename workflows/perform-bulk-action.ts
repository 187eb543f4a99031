import {
  CancellationScope,
  condition,
  continueAsNew,
  defineSignal,
  isCancellation,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { BulkActionActivities } from '../activities/bulk-actions.ts';
import {
  type BulkActionArgs,
  type BulkActionOutcome,
  bulkActionMessages,
} from '../src/temporal/contracts/automation.ts';

const work = proxyActivities<BulkActionActivities>({
  startToCloseTimeout: '1 minute',
  heartbeatTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
});

const records = proxyActivities<BulkActionActivities>({
  startToCloseTimeout: '10 seconds',
  retry: { initialInterval: '1 second', maximumInterval: '1 minute' },
});

const pause = defineSignal(bulkActionMessages.pause);
const resume = defineSignal(bulkActionMessages.resume);

/** What continue-as-new passes on. */
interface Carried {
  isPaused: boolean;
  details: string;
}

/**
 * Cancels or retries many runs, some at a time. The progress is only in PostgreSQL. Operators pause and resume it;
 * cancelling this workflow aborts the bulk action.
 */
export async function performBulkAction(args: BulkActionArgs, carried?: Carried): Promise<BulkActionOutcome> {
  let isPaused = carried?.isPaused ?? false;
  let details = carried?.details ?? 'No run is done yet.';
  const show = () =>
    setCurrentDetails(
      isPaused ? `Paused by an operator; the signal \`resume\` continues with it. ${details}` : details,
    );
  const set = (paused: boolean) => () => {
    isPaused = paused;
    show();
  };
  setHandler(pause, set(true), { description: 'Stop after the runs that are being cancelled or retried' });
  setHandler(resume, set(false), { description: 'Go on with the runs that are left' });
  try {
    for (;;) {
      show();
      await condition(() => !isPaused);
      const progress = await work.performNextRuns(args);
      if (!progress) return { total: 0, succeeded: 0, failed: 0, skipped: 0 };
      const { over, total, succeeded, failed, skipped } = progress;
      details = progress.details;
      show();
      if (over) return { total, succeeded, failed, skipped };
      if (workflowInfo().continueAsNewSuggested) {
        await continueAsNew<typeof performBulkAction>(args, { isPaused, details });
      }
    }
  } catch (failure) {
    if (isCancellation(failure)) {
      await CancellationScope.nonCancellable(() => records.recordBulkAborted(args));
      isPaused = false;
      details = `Aborted. ${details}`;
      show();
    }
    throw failure;
  }
}
// A paused bulk action outlives versions of the code.
setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, performBulkAction);
