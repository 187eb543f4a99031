import type { RunError, StepStatus } from './run-status.ts';
import { isOfFeature } from './step-types.ts';
import type { Step } from './steps.ts';

/** How an attempted step ended. */
export interface PastEnd {
  status: StepStatus;
  error: Pick<RunError, 'code' | 'fault'> | null;
}

/** Whether the call of a step has a key that lets the other side detect a repetition. */
export const hasKey = (step: Step): boolean => step.type === 'http' || isOfFeature(step);

/** Failures of a feature's step that leave its outcome open. */
const openFailures: ReadonlySet<string> = new Set([
  'outcome_unknown',
  'internal_error',
  'too_many_waiting',
  'storage_full',
]);

/**
 * Whether the outcome of a step's call is known. A call with an unknown outcome is repeated with its key, so that a
 * receiver that got the first call does not repeat its effect.
 * @param cancelsJob whether cancelling the step cancels what it asked for
 */
export function isAnswered(step: Step, { status, error }: PastEnd, cancelsJob: boolean): boolean {
  if (status === 'completed') return true;
  if (status === 'cancelled') return cancelsJob;
  if (status !== 'failed' || !error || error.fault) return false;
  if (step.type === 'http') return error.code === 'http_error' || error.code === 'output_too_large';
  return !isOfFeature(step) || !openFailures.has(error.code);
}
