import { Context } from '@temporalio/activity';
import { abortRow } from '../src/automation/bulk-actions/bulk-actions.ts';
import {
  type BulkActionServices,
  type BulkProgress,
  performBulkAction,
} from '../src/automation/bulk-actions/perform-bulk-action.ts';
import type { BulkActionArgs } from '../src/temporal/contracts/automation.ts';
import { scopeOf, withHeartbeats } from './activity-context.ts';

const heartbeatMs = 1_000;
/** Maximum duration of one activity, which continues with further runs. Organizations alternate between activities. */
const maxWorkMs = 3_000;
/** Attempts after which an error that is not expected is a failure of the run that it concerns. */
const unexpectedAttempts = 8;

interface BulkActionActivityServices extends BulkActionServices {
  /** Aborted when the process begins to drain. */
  draining: AbortController;
}

export const createBulkActionActivities = ({ draining, ...services }: BulkActionActivityServices) => ({
  /** Cancels or retries the next runs. @returns undefined when it exists no longer */
  async performNextRuns({ bulkActionId, ...context }: BulkActionArgs): Promise<BulkProgress | undefined> {
    const until = performance.now() + maxWorkMs;
    return withHeartbeats(heartbeatMs, (signal) =>
      performBulkAction(services, scopeOf(services.database, context), bulkActionId, {
        mayGoOn: () => performance.now() < until && !draining.signal.aborted && !signal.aborted,
        isLastAttempt: Context.current().info.attempt >= unexpectedAttempts,
      }),
    );
  },

  /** Its workflow was cancelled, here or by an operator. */
  async recordBulkAborted({ bulkActionId, ...context }: BulkActionArgs): Promise<void> {
    await abortRow(scopeOf(services.database, context), bulkActionId);
  },
});

export type BulkActionActivities = ReturnType<typeof createBulkActionActivities>;
