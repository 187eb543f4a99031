import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { runIds } from '../../../src/automation/core/ids.ts';
import { reconcileRuns } from '../../../src/automation/runs/reconcile.ts';
import { newId } from '../../../src/platform/ids.ts';
import { TemporalClient } from '../../../src/temporal/client.ts';
import { runWorkflowId } from '../../../src/temporal/contracts/automation.ts';
import { inB, makeWorkflow } from '../../automation/make-workflow.ts';
import { startProduct } from '../../product.ts';
import { runningServers } from '../../servers.ts';
import { until } from '../../until.ts';

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
  const { body } = await product.api.post(`/api/v1/workflows/${wf}/execute`, { inputs: {}, async: true }, inB);
  await until('the model is called', async () => (await read(body.data.runId)).status === 'running');
  return body.data.runId;
}

/** A run that is under way in the database and that Temporal knows nothing of. @returns its uuid */
async function startLostRun(): Promise<string> {
  const like = runIds.parse(await startSlowRun())!;
  const lost = newId();
  const { pool } = product.database;
  await pool.query(
    `insert into run select (jsonb_populate_record(run, jsonb_build_object('id', $2::text, 'number', 2))).* from run where id = $1`,
    [like, lost],
  );
  await pool.query(
    `insert into run_step select (jsonb_populate_record(s, jsonb_build_object('run_id', $2::text))).* from run_step s
      where run_id = $1`,
    [like, lost],
  );
  return lost;
}

/** As if they had begun long ago: the outbox has started them in Temporal, and it is time to check them. */
async function age(): Promise<void> {
  const { pool } = product.database;
  await until('the outbox is empty', async () => (await pool.query('select from outbox')).rowCount === 0);
  await pool.query("update run set created_at = created_at - interval '1 hour', checked_at = null");
}

const isClosed = (handle: WorkflowHandle) =>
  until('the workflow is over', async () => (await handle.describe()).status.name !== 'RUNNING');

/** Lets another workflow have the run's id, and waits for its end. */
async function replaceWorkflow(runId: string, type: string, taskQueue: string, limit?: '2 seconds'): Promise<void> {
  const { workflowId } = handleOf(runId);
  // At once: the product ends runs whose workflows it finds terminated.
  const again = { workflowId, taskQueue, workflowIdConflictPolicy: 'TERMINATE_EXISTING' } as const;
  await temporal.workflow.start(type, { ...again, ...(limit && { workflowExecutionTimeout: limit }) });
  await isClosed(handleOf(runId));
}

test('a run that an operator terminates fails within seconds; one that is reset goes on', async () => {
  const reset = await startSlowRun();
  const { wf } = await makeWorkflow(product.api, 'sandbox:slow=600');
  const waiting = product.api.post(`/api/v1/workflows/${wf}/execute`, { inputs: {}, async: false }, inB);
  const terminated: string = await until('it runs', async () => {
    const { runs } = (await product.api.get(`/api/v1/workflows/${wf}/runs`, inB)).body.data;
    return runs[0]?.status === 'running' && runs[0].runId;
  });
  // Temporal terminates what is reset, and starts it again under its id.
  const { workflowId } = handleOf(reset);
  await connection.workflowService.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId },
    workflowTaskFinishEventId: 4 as never,
    requestId: newId(),
  });
  await handleOf(terminated).terminate('An operator had enough of it.');
  expect(await waiting).toMatchObject({
    status: 500,
    body: { error: { code: 'INTERNAL_ERROR', message: 'The run was terminated.', details: { runId: terminated } } },
  });
  const error = { stepId: 'say', code: 'internal_error', message: 'The run was terminated.' };
  const step = { stepId: 'say', status: 'failed', error };
  expect(await read(terminated)).toMatchObject({ status: 'failed', error, stepResults: [step] });
  expect(await read(reset)).toMatchObject({ status: 'running' });
});

test('a run whose workflow is over ends too, once, and one that goes on goes on', async () => {
  const missing = runIds.format(await startLostRun());
  const [late, closed, open] = await Promise.all(Array.from({ length: 3 }, startSlowRun));
  await replaceWorkflow(late!, 'executeRun', 'nobody-is-here', '2 seconds');
  await replaceWorkflow(closed!, 'redriveDeadLetters', `${product.taskQueuePrefix}runs`);
  await age();

  // A tick of the housekeeping is triggered by each of them. It may go to the process that has just swept: then the next one
  // does it, a minute later.
  await Promise.all([product.start(['runs']), product.start(['runs'])]);
  const failed = (code: string, message: string) => {
    const error = { stepId: 'say', code, message };
    return { status: 'failed', error, stepResults: [{ stepId: 'say', status: 'failed', error }] };
  };
  const expected = new Map<string, object>([
    [late!, failed('timeout', 'The run took too long.')],
    [closed!, failed('internal_error', 'The run ended without a record of its result.')],
    [missing, failed('internal_error', 'The run was lost.')],
  ]);
  for (const [runId, what] of expected) {
    await until('the run has ended', async () => (await read(runId)).status !== 'running', 200_000);
    expect({ runId, ...(await read(runId)) }).toMatchObject({ runId, ...what });
  }
  expect(await read(open!)).toMatchObject({ status: 'running' });
  const own = [...expected.keys()].map((runId) => runIds.parse(runId));
  const logged = () =>
    product.processes
      .flatMap(({ log }) => log)
      .filter(
        ({ msg, runId }) => msg === 'ended a run whose Temporal workflow is closed' && own.includes(runId as string),
      )
      .map(({ runId }) => runId);
  // A line of log arrives after the row that it tells of was written.
  await until('every end is logged', async () => logged().length >= own.length);
  expect(logged().sort()).toEqual(own.sort());
});

test('runs that rightly take long keep none from being looked at', async () => {
  const runs: string[] = [];
  for (let n = 0; n < 3; n++) runs.push(runIds.parse(await startSlowRun())!);
  const lost = await startLostRun();
  const settings = { connection, namespace: 'default', taskQueuePrefix: product.taskQueuePrefix, eagerStart: false };
  const client = new TemporalClient(settings);
  await age();
  const { rows } = await product.database.pool.query("select from run where status in ('queued', 'running')");
  const ended = [];
  for (let seen = 0; seen < rows.length; seen += 2) {
    ended.push(...(await reconcileRuns(product.database, client, { everyMs: 600_000, batch: 2 })));
  }
  const own = ended.filter(({ runId }) => runId === lost || runs.includes(runId));
  // The product's own sweep may look at it first, and ends it then.
  await until('it was looked at', async () => {
    const seen = 'select from run where id = $1 and checked_at is not null';
    return (await product.database.pool.query(seen, [lost])).rowCount === 1;
  });
  expect(own).toEqual(own.map(() => ({ runId: lost, state: 'missing', status: 'failed' })));
  const { error } = await until('the lost run has ended', async () => {
    const run = await read(runIds.format(lost));
    return run.status === 'failed' && run;
  });
  expect(error).toMatchObject({ message: 'The run was lost.' });
  for (const runId of runs) expect((await read(runIds.format(runId))).status).toBe('running');
  // All of them were looked at a moment ago.
  expect(await reconcileRuns(product.database, client, { everyMs: 600_000, batch: 100 })).toEqual([]);
});
