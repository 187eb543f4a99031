import { isTerminal, type RunErrorCode } from '../../../../src/automation/core/run-status.ts';
import { isRunNotFound, workflowNotFound } from '../../../../src/automation/errors.ts';
import { waitsBeyond } from '../../../../src/automation/flows/waits.ts';
import { type CreatedRun, createRun } from '../../../../src/automation/runs/create-run.ts';
import { getRun, type RunDetail } from '../../../../src/automation/runs/runs.ts';
import { testTimeoutMs, timeOutTestRun } from '../../../../src/automation/test-runs/test-runs.ts';
import { clock } from '../../../../src/platform/clock.ts';
import { readPatiently } from '../../../../src/platform/database/database-errors.ts';
import { type IdempotencyClaim, resourceDeleted } from '../../../../src/platform/database/idempotency.ts';
import type { Scope } from '../../../../src/platform/database/scope.ts';
import { AppError, type ErrorKind } from '../../../../src/platform/errors.ts';
import type { Services } from '../../../../src/services.ts';
import { storageAway } from '../../../../src/storage/failure.ts';
import type { Caller } from '../../../../src/tenancy/caller.ts';
import type { AutomationDialect, Execution } from '../../../dialects/automation/dialect.ts';
import { publishedError } from '../../../dialects/automation/published-error.ts';
import type { AcceptedAnswer, ExecutedAnswer } from '../../../schemas/automation/run.ts';
import type { TestRunBody } from '../../../schemas/automation/test-run.ts';

/** What a caller gets that waited for a run. */
type AwaitedAnswer = { replayed: boolean } & (
  | { kind: 'finished'; data: ExecutedAnswer }
  | { kind: 'skipped' }
  | { kind: 'unfinished'; data: AcceptedAnswer }
  | { kind: 'failed'; failure: AppError; code: RunErrorCode | undefined }
);

const providersFault: readonly RunErrorCode[] = ['service_unavailable', 'content_refused'];

/** The error for a caller that waited for a run that failed. Its facts say why, in both dialects. */
function failureOf({ id, error }: RunDetail): AppError {
  const facts = Object.assign({ runId: id }, error && publishedError(error));
  if (error?.fault === 'storage') return storageAway(error.message, facts);
  const kind: ErrorKind = error && providersFault.includes(error.code) ? 'ai_provider_error' : 'internal_error';
  return new AppError(kind, error?.message ?? 'The run failed.', facts);
}

/**
 * The result for a request that waits for a run.
 * @returns the run if it has ended; `waits` when it waits for something that comes after the deadline
 */
async function findOutcome(
  scope: Scope,
  runId: string,
  deadline: Date,
): Promise<RunDetail | 'deleted' | 'waits' | undefined> {
  try {
    const run = await readPatiently(() => getRun(scope, runId), undefined);
    if (!run) return undefined;
    if (isTerminal(run.status)) return run;
    const isLate = await readPatiently(() => waitsBeyond(scope, runId, deadline), false);
    return isLate ? 'waits' : undefined;
  } catch (error) {
    if (isRunNotFound(error)) return 'deleted';
    throw error;
  }
}

interface ExecuteCall {
  caller: Caller;
  /** The id of the workflow as the caller wrote it. */
  id: string;
  request: Omit<Execution, 'wait'> & { idempotency: IdempotencyClaim | undefined };
}

/** The outcome of waiting for a run. */
type AwaitedRun = RunDetail | 'deleted' | 'unfinished';

/**
 * Waits until a run has ended: at most `SYNC_WAIT_SECONDS`, and not at all for one whose beginning is not known.
 * @param signal aborted when the caller no longer waits
 * @returns `unfinished` too when it waits for something that comes later
 */
export async function awaitRun(
  { waiters, env }: Pick<Services, 'waiters' | 'env'>,
  scope: Scope,
  { runId, queuedFor, replayed }: CreatedRun,
  signal: AbortSignal,
): Promise<AwaitedRun> {
  if (queuedFor === 'delay' || queuedFor === 'paused') return 'unfinished';
  const timeoutMs = env.SYNC_WAIT_SECONDS * 1000;
  const deadline = new Date(clock.now() + timeoutMs);
  const look = () => findOutcome(scope, runId, deadline);
  // The run of an earlier request may have ended before this process listened for it.
  const ended = await waiters.wait(runId, look, timeoutMs, signal, replayed);
  return ended === undefined || ended === 'waits' ? 'unfinished' : ended;
}

/**
 * Starts a run and waits until it has ended: at most `SYNC_WAIT_SECONDS`, less when this process drains. The run continues
 * when the wait is over. A run that waits for longer itself is not waited for.
 * @returns for a run that failed ai_provider_error or internal_error with facts `{runId, stepId, code, message}`. @throws
 * AppError as `createRun`, rate_limit_exceeded when too many requests wait, unauthorized when the key ends meanwhile
 */
export async function executeAndWait(
  services: Services,
  scope: Scope,
  dialect: AutomationDialect,
  { caller, id, request }: ExecuteCall,
): Promise<AwaitedAnswer> {
  const open = await services.openRequests.open(caller, 'waitingRequests');
  try {
    const run = await createRun(services, scope, id, { ...request, waiter: services.waiters.channel });
    const answer: AwaitedAnswer =
      run.runId === null
        ? { kind: 'skipped', replayed: false }
        : await answerOf(services, scope, dialect, id, run, open.signal);
    const refusal = await open.refusal();
    if (refusal) throw refusal;
    return answer;
  } finally {
    open.close();
  }
}

async function answerOf(
  services: Services,
  scope: Scope,
  dialect: AutomationDialect,
  id: string,
  run: CreatedRun,
  signal: AbortSignal,
): Promise<AwaitedAnswer> {
  const { runId, automationId, replayed } = run;
  const ended = await awaitRun(services, scope, run, signal);
  if (ended === 'unfinished') {
    // It is not known when these begin.
    if (run.queuedFor === 'delay' || run.queuedFor === 'paused') {
      return { kind: 'unfinished', replayed, data: dialect.accepted(run) };
    }
    const now = await readPatiently(() => getRun(scope, runId), undefined);
    const queuedFor = now?.queuedFor === 'plan' ? null : now?.queuedFor;
    return { kind: 'unfinished', replayed, data: dialect.accepted({ runId, automationId, replayed, queuedFor }) };
  }
  if (ended === 'deleted') throw replayed ? resourceDeleted() : workflowNotFound(id);
  if (ended.status === 'failed')
    return { kind: 'failed', replayed, failure: failureOf(ended), code: ended.error?.code };
  return { kind: 'finished', replayed, data: dialect.executed(ended) };
}

interface TestCall {
  caller: Caller;
  /** The id of the workflow as the caller wrote it. */
  id: string;
  body: TestRunBody;
  idempotency: IdempotencyClaim | undefined;
}

/**
 * Tests a workflow: a run of the sandbox, for which the request waits. Once its time is over it is cancelled.
 * @returns the run, failed or not; as it is then when this process drains
 * @throws AppError as `createRun`, rate_limit_exceeded when too many requests wait, unauthorized when the key ends meanwhile
 */
export async function testWorkflow(
  services: Services,
  scope: Scope,
  dialect: AutomationDialect,
  { caller, id, body: { mocks = {}, ...body }, idempotency }: TestCall,
): Promise<{ run: RunDetail; replayed: boolean }> {
  const { input, variables, options } = dialect.readExecution({ ...body, async: false });
  const { waiters, openRequests } = services;
  const open = await openRequests.open(caller, 'waitingRequests');
  try {
    const test = { mocks };
    const request = { input, variables, options, idempotency, test, waiter: waiters.channel };
    const { runId, replayed } = (await createRun(services, scope, id, request)) as { runId: string; replayed: boolean };
    const look = async () => {
      const run = await readPatiently(() => getRun(scope, runId), undefined);
      return run && isTerminal(run.status) ? run : undefined;
    };
    const ended = await waiters.wait(runId, look, testTimeoutMs, open.signal, replayed);
    if (!ended && !open.signal.aborted) await timeOutTestRun(services, scope, runId);
    const refusal = await open.refusal();
    if (refusal) throw refusal;
    return { run: ended || (await getRun(scope, runId)), replayed };
  } finally {
    open.close();
  }
}
