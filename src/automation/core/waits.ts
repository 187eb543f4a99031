import { defineStates } from '../../platform/core/states.ts';
import type { RunErrorCode } from './run-status.ts';

export const waitStates = defineStates(
  { table: 'run_wait', column: 'state' },
  {
    open: { meaning: 'Nothing has happened yet that ends it.', initial: true, to: ['resolved'] },
    resolved: { meaning: 'It has its outcome, or its run has ended.', to: [] },
  },
);
export type WaitState = (typeof waitStates.all)[number];

/** `job`: the work of a feature, as an image. `slot`: the plan has no free slot for the step at the moment. */
export type WaitType = 'wait' | 'event' | 'approval' | 'workflow' | 'job' | 'slot';

/** How a wait ends: with the output of its step, or with the failure of its step. */
export type WaitOutcome =
  | { output: unknown }
  | { error: { code: RunErrorCode; message: string; details?: Record<string, unknown> } };

/**
 * The outcome of a wait as its row has it. `true`: its output is the event that ended it. Thousands of waits may end with one
 * event, which is stored once. An earlier version of the product cannot take it for a value: it tries again.
 */
export type StoredOutcome = WaitOutcome | true;
