import { isTerminal } from '../../../../src/automation/core/run-status.ts';
import { createRun } from '../../../../src/automation/runs/create-run.ts';
import { getRun, type RunDetail } from '../../../../src/automation/runs/runs.ts';
import { testTimeoutMs, timeOutTestRun } from '../../../../src/automation/test-runs/time-out.ts';
import { readPatiently } from '../../../../src/platform/database/database-errors.ts';
import type { IdempotencyClaim } from '../../../../src/platform/database/idempotency.ts';
import type { Scope } from '../../../../src/platform/database/scope.ts';
import type { Services } from '../../../../src/services.ts';
import type { Caller } from '../../../../src/tenancy/caller.ts';
import type { AutomationDialect } from '../../../dialects/automation/dialect.ts';
import type { TestRunBody } from '../../../schemas/automation/test-run.ts';

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
    const ending = waiters.wait(runId, look, testTimeoutMs, open.signal);
    const ended = (replayed && (await look())) || (await ending);
    if (!ended && !open.signal.aborted) await timeOutTestRun(services, scope, runId);
    const refusal = await open.refusal();
    if (refusal) throw refusal;
    return { run: ended || (await getRun(scope, runId)), replayed };
  } finally {
    open.close();
  }
}
