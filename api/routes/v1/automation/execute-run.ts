import { isTerminal, type RunErrorCode } from '../../../../src/automation/core/run-status.ts';
import { createRun } from '../../../../src/automation/create-run.ts';
import { isRunNotFound, workflowNotFound } from '../../../../src/automation/errors.ts';
import { getRun, type RunDetail } from '../../../../src/automation/runs.ts';
import { databaseFailure } from '../../../../src/platform/database-errors.ts';
import { AppError, type ErrorKind } from '../../../../src/platform/errors.ts';
import type { IdempotencyClaim } from '../../../../src/platform/idempotency.ts';
import type { Scope } from '../../../../src/platform/scope.ts';
import type { Services } from '../../../../src/services.ts';
import type { AutomationDialect } from '../../../dialects/automation/dialect.ts';
import type { AcceptedAnswer, ExecuteBody, ExecutedAnswer } from '../../../schemas/automation/run.ts';

export type ExecuteAnswer = { replayed: boolean } & (
  | { kind: 'finished'; data: ExecutedAnswer | AcceptedAnswer }
  | { kind: 'unfinished'; data: AcceptedAnswer }
  | { kind: 'failed'; failure: AppError }
);

const providersFault: readonly RunErrorCode[] = ['service_unavailable', 'content_refused'];

/** The error for a caller that waited for a run that failed. */
function failureOf({ id, error }: RunDetail): AppError {
  const kind: ErrorKind = error && providersFault.includes(error.code) ? 'ai_provider_error' : 'internal_error';
  return new AppError(kind, error?.message ?? 'The run failed.', { runId: id });
}

/**
 * The run if it has ended or was deleted. When the database cannot be reached the state of the run is unknown, and the
 * caller keeps waiting.
 */
async function findEnded(scope: Scope, runId: string): Promise<RunDetail | 'deleted' | undefined> {
  try {
    const run = await getRun(scope, runId);
    return isTerminal(run.status) ? run : undefined;
  } catch (error) {
    if (isRunNotFound(error)) return 'deleted';
    if (databaseFailure(error)?.code === 'service_unavailable') return undefined;
    throw error;
  }
}

/**
 * Starts a run and, if the caller asked for it, waits until it has ended: at most `SYNC_WAIT_SECONDS`, less when this
 * process drains. The run continues when the wait is over.
 * @returns for a run that failed ai_provider_error or internal_error with facts `{runId}`. @throws AppError as `createRun`
 */
export async function executeRun(
  services: Services,
  scope: Scope,
  dialect: AutomationDialect,
  id: string,
  body: ExecuteBody,
  idempotency: IdempotencyClaim | undefined,
): Promise<ExecuteAnswer> {
  const { waiters, draining, env } = services;
  const { wait, ...request } = dialect.readExecution(body);
  const run = await createRun(services, scope, id, { ...request, idempotency, waiter: wait ? waiters.channel : null });
  const { runId, replayed } = run;
  const look = () => findEnded(scope, runId);
  const timeoutMs = env.SYNC_WAIT_SECONDS * 1000;
  const ending = wait ? waiters.wait(runId, look, timeoutMs, draining.signal) : undefined;
  if (!ending) return { kind: 'finished', replayed, data: dialect.accepted(run) };

  // The run of an earlier request may have ended before this process listened for it.
  const ended = (replayed && (await look())) || (await ending);
  if (ended === undefined) return { kind: 'unfinished', replayed, data: dialect.accepted(run) };
  if (ended === 'deleted') throw workflowNotFound(id);
  if (ended.status === 'failed') return { kind: 'failed', replayed, failure: failureOf(ended) };
  return { kind: 'finished', replayed, data: dialect.executed(ended) };
}
