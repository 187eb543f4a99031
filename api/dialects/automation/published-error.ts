import type { RunError } from '../../../src/automation/core/run-status.ts';

type Published = Omit<RunError, 'fault'>;

/** The error of a run or step as answers and events show it. */
export function publishedError(error: RunError): Published;
export function publishedError(error: RunError | null): Published | null;
export function publishedError(error: RunError | null): Published | null {
  if (!error) return null;
  const { fault: _, ...published } = error;
  return published;
}
