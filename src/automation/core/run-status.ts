/**
 * A run's life. A terminal state never changes.
 *
 *     queued ──> running ──> completed
 *        │          ├──────> failed
 *        └──────────┴──────> cancelled
 */
export const runStatuses = ['queued', 'running', 'completed', 'failed', 'cancelled'] as const;
export type RunStatus = (typeof runStatuses)[number];

export type TerminalStatus = Exclude<RunStatus, 'queued' | 'running'>;

export const isTerminal = (status: RunStatus): status is TerminalStatus => status !== 'queued' && status !== 'running';

export type StepStatus = 'running' | 'completed' | 'failed' | 'skipped' | 'cancelled';

/** Why a run failed. `stepId` is absent when no step is to blame. */
export interface RunError {
  stepId?: string;
  message: string;
  code: RunErrorCode;
}

export const runErrorCodes = [
  'service_unavailable',
  'expression_error',
  'output_schema_mismatch',
  'content_refused',
  'timeout',
  'internal_error',
] as const;
export type RunErrorCode = (typeof runErrorCodes)[number];

/** Percent of the steps that are finished, 0 to 100; a completed run is at 100 whatever it skipped. */
export function progressOf(status: RunStatus, finishedSteps: number, totalSteps: number): number {
  if (status === 'completed') return 100;
  return totalSteps === 0 ? 0 : Math.floor((finishedSteps / totalSteps) * 100);
}
