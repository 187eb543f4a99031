import { defineStates } from '../../platform/core/states.ts';

export const bulkActionStates = defineStates(
  { table: 'bulk_action', column: 'status' },
  {
    pending: { meaning: 'It has not begun.', initial: true, to: ['running', 'completed', 'aborted'] },
    running: { meaning: 'Its runs are cancelled or retried.', to: ['completed', 'aborted'] },
    completed: { meaning: 'All of its runs are done.', to: [] },
    aborted: { meaning: 'It was aborted: runs that were not done by then stay as they are.', to: [] },
  },
);
export type BulkActionStatus = (typeof bulkActionStates.all)[number];
export const openBulkAction = bulkActionStates.sql('pending', 'running');

export const bulkActionTypes = ['cancel', 'retry'] as const;
export type BulkActionType = (typeof bulkActionTypes)[number];

/** Open bulk actions of an organization and environment. */
export const maxOpenBulkActions = 2;
/** Runs that a request names. */
export const maxBulkRunIds = 500;
/** Runs that a filter finds. */
export const maxBulkRuns = 10_000;
/** Errors that are kept. */
export const maxBulkErrors = 20;
/** Ids that a dry run shows. */
export const maxBulkExamples = 10;

/** Why a run was not cancelled or retried. */
export interface BulkError {
  /** A UUID, or the caller's text if that is not an id. */
  runId: string;
  code: string;
  message: string;
}

export const unknownRun = (runId: string): BulkError => ({
  runId,
  code: 'run_not_found',
  message: 'No run has this id.',
});

export interface BulkCounts {
  total: number;
  succeeded: number;
  failed: number;
  skipped: number;
}

/** How far it is, for operators. */
export const describeBulkAction = (action: BulkActionType, { total, succeeded, failed, skipped }: BulkCounts): string =>
  `${succeeded + failed + skipped} of ${total} runs are done: ${succeeded} ${action === 'cancel' ? 'cancelled' : 'retried'}, ${skipped} skipped, ${failed} failed.`;
