import { AppError, type ErrorCodes } from '../platform/errors.ts';

export const automationErrors = {
  workflow_not_found: 'not_found',
  run_not_found: 'not_found',
  workflow_inactive: 'validation_error',
  expression_error: 'validation_error',
} as const satisfies ErrorCodes;

/** @param workflowId as the caller wrote it */
export const workflowNotFound = (workflowId: string) =>
  new AppError('not_found', 'No workflow has this id.', { workflowId }, { code: 'workflow_not_found' });

/** @param runId as the caller wrote it */
export const runNotFound = (runId: string) =>
  new AppError('not_found', 'No run has this id.', { runId }, { code: 'run_not_found' });

export const isRunNotFound = (error: unknown): boolean => error instanceof AppError && error.code === 'run_not_found';

export const workflowInactive = (workflowId: string) =>
  new AppError('validation_error', 'The workflow is not active.', { workflowId }, { code: 'workflow_inactive' });

export const isInactive = (error: unknown): boolean => error instanceof AppError && error.code === 'workflow_inactive';
