import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { testSeconds } from '../core/mocks.ts';
import type { FlowServices } from '../flows/call-leaf.ts';
import type { CancelRunServices } from '../runs/cancel-run.ts';
import { endRuns, testTimedOut } from '../starts/end-runs.ts';

const findTest = statement({
  name: 'run.is_test',
  parameters: { runId: 'uuid' },
  row: { isTest: 'boolean' },
  text: `select is_test as "isTest" from run
    where organization_id = :organizationId and environment = :environment and id = :runId`,
});

/** Whether a run is a test run; false if it was deleted. */
export const isTestRun = async (scope: Scope, runId: string): Promise<boolean> =>
  (await scope.one(findTest, { runId }))?.isTest === true;

/** The services that execute a test run: the sandbox answers, whatever the environment of the run is. */
export function sandboxed(services: FlowServices): FlowServices {
  const { providers, httpSenders } = services;
  return {
    ...services,
    providers: {
      ...providers,
      textModel: (_, provider, model) => providers.textModel('test', provider, model),
      chatModel: (_, provider, model) => providers.chatModel('test', provider, model),
      listModels: () => providers.listModels('test'),
      mayBeInstant: () => providers.mayBeInstant('test'),
    },
    httpSenders: { live: httpSenders.test, test: httpSenders.test },
  };
}

/** How long a test run may take. */
export const testTimeoutMs = testSeconds * 1_000;

/** Cancels a test run that has timed out. A sweep cancels test runs whose caller has disconnected. */
export async function timeOutTestRun(
  { waiters, countRunEnd }: CancelRunServices,
  scope: Scope,
  runId: string,
): Promise<void> {
  const ended = await scope.transaction((tx) => endRuns(tx, [runId], testTimedOut));
  if (ended.length === 0) return;
  countRunEnd(testTimedOut.status);
  waiters.notifyLocal(runId);
}
