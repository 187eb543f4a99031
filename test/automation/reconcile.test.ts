import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { runIds } from '../../src/automation/core/ids.ts';
import { reconcileRuns } from '../../src/automation/reconcile.ts';
import { TemporalClient } from '../../src/temporal/client.ts';
import { runWorkflowId } from '../../src/temporal/contracts/automation.ts';
import { startProduct } from '../product.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { inB, makeWorkflow } from './make-workflow.ts';

// Far more than it takes alone: several processes start, and others may use the machine too.
jest.setTimeout(400_000);

let product: Awaited<ReturnType<typeof startProduct>>;
let connection: Connection;
let temporal: Client;
beforeAll(async () => {
  product = await startProduct();
  connection = await Connection.connect({ address: runningServers().temporalAddress });
  temporal = new Client({ connection });
});
afterAll(async () => {
  await connection.close();
  await product.close();
});

const read = async (runId: string) => (await product.api.get(`/api/v1/runs/${runId}`, inB)).body.data;
const handleOf = (runId: string): WorkflowHandle => temporal.workflow.getHandle(runWorkflowId(runIds.parse(runId)!));

/** Starts a run whose model takes its time, and waits until it is called. @returns `run_…` */
async function startSlowRun(): Promise<string> {
  const { wf } = await makeWorkflow(product.api, 'sandbox:slow=600');
  const { body } = await product.api.post(`/api/v1/workflows/${wf}/execute`, { async: true }, inB);
  await until('the model is called', async () => (await read(body.data.runId)).status === 'running');
  return body.data.runId;
}

/** As if they had begun long ago: the outbox has told Temporal of them, and it is time to ask what became of them. */
async function age(): Promise<void> {
  const { pool } = product.database;
  await until('the outbox is empty', async () => (await pool.query('select from outbox')).rowCount === 0, 60_000);
  await pool.query("update run set created_at = created_at - interval '1 hour', checked_at = null");
}

const isClosed = (handle: WorkflowHandle) =>
  until('the workflow is over', async () => (await handle.describe()).status.name !== 'RUNNING', 60_000);

/** Lets another workflow have the run's id, and waits for its end. */
async function replaceWorkflow(runId: string, type: string, taskQueue: string, limit?: '2 seconds'): Promise<void> {
  const { workflowId } = handleOf(runId);
  await handleOf(runId).terminate();
  const again = { workflowId, taskQueue, workflowIdReusePolicy: 'ALLOW_DUPLICATE' } as const;
  await temporal.workflow.start(type, { ...again, ...(limit && { workflowExecutionTimeout: limit }) });
  await isClosed(handleOf(runId));
}

test('a run whose workflow is over ends too, once, and one that goes on goes on', async () => {
  const { wf } = await makeWorkflow(product.api, 'sandbox:slow=600');
  const waiting = product.api.post(`/api/v1/workflows/${wf}/execute`, { async: false }, inB);
  const terminated: string = await until('it runs', async () => {
    const { runs } = (await product.api.get(`/api/v1/workflows/${wf}/runs`, inB)).body.data;
    return runs[0]?.status === 'running' && runs[0].runId;
  });
  const [late, closed, missing, open] = await Promise.all(Array.from({ length: 4 }, startSlowRun));
  await handleOf(terminated).terminate('An operator had enough of it.');
  await replaceWorkflow(late!, 'executeRun', 'nobody-is-here', '2 seconds');
  await replaceWorkflow(closed!, 'redriveDeadLetters', `${product.taskQueuePrefix}runs`);
  await handleOf(missing!).terminate();
  const workflowExecution = { workflowId: handleOf(missing!).workflowId };
  await connection.workflowService.deleteWorkflowExecution({ namespace: 'default', workflowExecution });
  const isForgotten = () =>
    handleOf(missing!)
      .describe()
      .then(
        () => false,
        () => true,
      );
  await until('Temporal forgot it', isForgotten, 120_000);
  await age();

  // Each sweeps as soon as it is up.
  await Promise.all([product.start(['runs']), product.start(['runs'])]);
  const failed = (code: string, message: string) => {
    const error = { stepId: 'say', code, message };
    return { status: 'failed', error, stepResults: [{ stepId: 'say', status: 'failed', error }] };
  };
  const expected = new Map<string, object>([
    [terminated, failed('internal_error', 'The run was terminated.')],
    [late!, failed('timeout', 'The run took too long.')],
    [closed!, failed('internal_error', 'The run ended without a record of its result.')],
    [missing!, failed('internal_error', 'The run was lost.')],
  ]);
  for (const [runId, what] of expected) {
    await until('the run has ended', async () => (await read(runId)).status !== 'running', 60_000);
    expect({ runId, ...(await read(runId)) }).toMatchObject({ runId, ...what });
  }
  expect(await read(open!)).toMatchObject({ status: 'running' });
  expect(await waiting).toMatchObject({
    status: 500,
    body: { error: { code: 'INTERNAL_ERROR', message: 'The run was terminated.', details: { runId: terminated } } },
  });
  const logged = product.processes
    .flatMap(({ log }) => log)
    .filter(({ msg }) => msg === 'ended a run whose Temporal workflow is closed')
    .map(({ runId }) => runId);
  expect(logged.sort()).toEqual([...expected.keys()].map((runId) => runIds.parse(runId)).sort());
});

test('runs that rightly take long keep none from being looked at', async () => {
  const runs: string[] = [];
  for (let n = 0; n < 4; n++) runs.push(await startSlowRun());
  await handleOf(runs.at(-1)!).terminate();
  const settings = { connection, namespace: 'default', taskQueuePrefix: product.taskQueuePrefix, eagerStart: false };
  const client = new TemporalClient(settings);
  await age();
  const { rows } = await product.database.pool.query("select from run where status in ('queued', 'running')");
  const ended = [];
  for (let seen = 0; seen < rows.length; seen += 2) {
    ended.push(...(await reconcileRuns(product.database, client, { everyMs: 600_000, batch: 2 })));
  }
  const own = new Set(runs.map((runId) => runIds.parse(runId)));
  expect(ended.filter(({ runId }) => own.has(runId))).toEqual([
    { runId: runIds.parse(runs.at(-1)!), state: 'terminated', status: 'failed' },
  ]);
  // All of them were looked at a moment ago.
  expect(await reconcileRuns(product.database, client, { everyMs: 600_000, batch: 100 })).toEqual([]);
});
