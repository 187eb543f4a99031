import { workflowNotFound } from '../../../../src/automation/errors.ts';
import { createRun, type RunRequest } from '../../../../src/automation/runs/create-run.ts';
import { followFlow } from '../../../../src/automation/runs/follow-flow.ts';
import { followRun } from '../../../../src/automation/runs/follow-run.ts';
import { getRun } from '../../../../src/automation/runs/runs.ts';
import { resourceDeleted } from '../../../../src/platform/database/idempotency.ts';
import { awaitRun } from '../../v1/automation/await-run.ts';
import { failedResult } from '../results.ts';
import { claimOf, type ToolAnswer, type ToolCall } from '../tool.ts';
import { factsOfRun, resultOfRun, unfinishedResult } from './run-result.ts';
import { handleOf } from './tasks.ts';

/** Progress of one call that is reported. */
const maxReported = 200;

/** Reports the events of a run to the client until `stop` is aborted. */
async function reportProgress(
  { services, scope, progress }: ToolCall,
  runId: string,
  stop: AbortSignal,
): Promise<void> {
  if (!progress) return;
  const run = await getRun(scope, runId);
  const { isFlow } = await factsOfRun(scope, run.id);
  let reported = 0;
  for await (const { name, step } of (isFlow ? followFlow : followRun)(services.waiters, scope, run, 0, stop)) {
    if (++reported > maxReported) return;
    progress(step ? `${name} ${step.stepId}` : name);
  }
}

const skipped = failedResult({
  code: 'skipped',
  message: 'The workflow runs already as often as its concurrency allows, and skips further runs.',
  facts: { reason: 'concurrency' },
  retryAfter: undefined,
});

/** A run to start. */
interface AskedRun {
  /** In either form. */
  workflowId: string;
  request: Pick<RunRequest, 'input' | 'variables'>;
  /** That of the tool, where it has one. */
  outputSchema: object | null;
}

/**
 * Starts a run. A client that takes tasks gets the run as one at once. For others the call waits for the result, and returns
 * the run's id when that takes longer, or when the run waits for something that comes later.
 * @throws AppError as `createRun`; rate_limit_exceeded when too many requests wait, unauthorized when the key ends meanwhile
 */
export async function startRun(call: ToolCall, { workflowId, request, outputSchema }: AskedRun): Promise<ToolAnswer> {
  const { services, scope, caller } = call;
  const idempotency = claimOf(call);
  if (call.takesTask) {
    const run = await createRun(services, scope, workflowId, { ...request, idempotency, waiter: null });
    return run.runId === null ? skipped : handleOf(await getRun(scope, run.runId));
  }
  const open = await services.openRequests.open(caller, 'waitingRequests');
  const stop = new AbortController();
  const signal = AbortSignal.any([open.signal, call.signal, stop.signal]);
  try {
    const waiter = services.waiters.channel;
    const run = await createRun(services, scope, workflowId, { ...request, idempotency, waiter });
    if (run.runId === null) return skipped;
    const ending = awaitRun(services, scope, run, signal);
    const reporting = call.progress && reportProgress(call, run.runId, signal).catch(() => {});
    const ended = await ending;
    const refusal = await open.refusal();
    if (refusal) throw refusal;
    if (ended === 'deleted') throw run.replayed ? resourceDeleted() : workflowNotFound(workflowId);
    if (ended === 'unfinished') return unfinishedResult(await getRun(scope, run.runId), outputSchema);
    // The last event was not reported yet; the run has ended, so this does not take long.
    await reporting;
    return await resultOfRun(services, scope, ended, outputSchema);
  } finally {
    stop.abort();
    open.close();
  }
}
