import { defineStates } from '../../platform/core/states.ts';
import { flowErrorCodes } from './flow-codes.ts';

/** A run that ends within one transaction goes from queued to its end directly. */
export const runStates = defineStates(
  { table: 'run', column: 'status' },
  {
    queued: {
      meaning: 'The run is accepted, and no step has begun.',
      initial: true,
      to: ['running', 'completed', 'failed', 'cancelled'],
    },
    running: { meaning: 'Its steps are being executed.', to: ['completed', 'failed', 'cancelled'] },
    completed: { meaning: 'It reached its end, and its output is there.', to: [] },
    failed: { meaning: 'A step failed or the run was lost; the error says why.', to: [] },
    cancelled: { meaning: 'It was cancelled before it ended.', to: [] },
  },
);

export const runStatuses = runStates.all;
export type RunStatus = (typeof runStatuses)[number];
export type TerminalStatus = (typeof runStates.terminal)[number];
export const { isTerminal } = runStates;

/** For SQL: the states of a run that has not ended. */
export const openRun = runStates.sql(...runStatuses.filter((status) => !isTerminal(status)));

/** The same of a run that has. */
export const endedRun = runStates.sql(...runStates.terminal);

/** A step is recorded when it begins to call out; a step that ends at once is recorded at its end. */
export const stepStates = defineStates(
  { table: 'run_step', column: 'status' },
  {
    running: {
      meaning: 'The step is being executed.',
      initial: true,
      to: ['waiting', 'completed', 'failed', 'cancelled'],
    },
    waiting: {
      meaning: 'It waits for a time, an event, an approval, another run or a job.',
      initial: true,
      to: ['running', 'completed', 'failed', 'cancelled'],
    },
    completed: { meaning: 'It has its output.', initial: true, to: [] },
    failed: {
      meaning: 'It failed, and its run with it unless it stands in a container that settles.',
      initial: true,
      to: [],
    },
    skipped: {
      meaning: 'It was not reached: a condition chose another branch, or the run had ended.',
      initial: true,
      to: [],
    },
    cancelled: {
      meaning: 'It was being executed when its run was cancelled, or when a step beside it failed.',
      to: [],
    },
  },
);
export type StepStatus = (typeof stepStates.all)[number];

/** Whether a retried run can take a step over. */
export const isStepDone = (status: StepStatus): boolean => status === 'completed' || status === 'skipped';

/** For SQL: the states of a step that is done. */
export const doneStep = stepStates.sql(...stepStates.all.filter(isStepDone));

/** For SQL: the states of a step that has not ended. */
export const openStep = stepStates.sql(...stepStates.all.filter((status) => !stepStates.isTerminal(status)));

/** How the branches or items of a container ended; while it is open only the total is known. */
export interface StepCounts {
  total: number;
  succeeded: number;
  failed: number;
}

/** Why a run failed. `stepId` is absent when no step is to blame. */
export interface RunError {
  stepId?: string;
  message: string;
  code: RunErrorCode;
  /** Facts of the failure, as the status that a server answered with. */
  details?: Record<string, unknown>;
  /**
   * `storage`: our own file storage failed, and neither the caller nor a provider is at fault. `unknown`: the request
   * of the step may have been performed. Not published.
   */
  fault?: 'storage' | 'unknown';
}

const modelCodes = [
  'service_unavailable',
  'expression_error',
  'output_schema_mismatch',
  'output_too_large',
  'content_refused',
  'timeout',
  'internal_error',
] as const;
/** Why a step of type `action` failed. */
const actionCodes = ['action_failed', 'not_connected', 'auth_expired', 'rate_limited'] as const;
export const runErrorCodes = [...modelCodes, 'storage_full', ...actionCodes, ...flowErrorCodes] as const;
export type RunErrorCode = (typeof runErrorCodes)[number];

/** Codes that steps of type `fail` give, and refusals of features: those above are some of them. */
export const errorCodePattern = /^[a-z0-9_]{1,64}$/;

/** Why a step failed that could not read or store a file. @param message of the storage */
export const storageFailed = (message: string) =>
  ({ code: 'service_unavailable', message: `The file storage failed. ${message}`, fault: 'storage' }) as const;

/** Why a model did not give a step its output. */
export type ModelFailureCode = (typeof modelCodes)[number];
export const modelErrorCodes = [...modelCodes, 'provider_not_configured'] as const;

/** A model that a step asked, and the reason why it did not answer. */
export interface AskedModel {
  provider: string;
  model: string;
  error?: { code: (typeof modelErrorCodes)[number]; message: string };
}

/** Percent of the steps that are finished, 0 to 100; a completed run is at 100 even if it skipped steps. */
export function progressOf(status: RunStatus, finishedSteps: number, totalSteps: number): number {
  if (status === 'completed') return 100;
  return totalSteps === 0 ? 0 : Math.floor((finishedSteps / totalSteps) * 100);
}
