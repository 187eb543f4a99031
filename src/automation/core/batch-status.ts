import { defineStates } from '../../platform/core/states.ts';

export const batchStates = defineStates(
  { table: 'run_batch', column: 'status' },
  {
    processing: { meaning: 'Some of its runs have not ended.', initial: true, to: ['completed', 'cancelled'] },
    completed: { meaning: 'All of its runs have ended.', initial: true, to: [] },
    cancelled: { meaning: 'It was cancelled: its runs that had not ended then were cancelled.', to: [] },
  },
);
export type BatchStatus = (typeof batchStates.all)[number];

/** How many items of a batch there are, by what became of them. */
export interface BatchCounts {
  total: number;
  reused: number;
  skipped: number;
  queued: number;
  running: number;
  completed: number;
  failed: number;
  cancelled: number;
}
