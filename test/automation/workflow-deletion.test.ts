import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { runWorkflowId } from '../../src/temporal/contracts/automation.ts';
import { sharedProduct } from '../product.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { inB, makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let connection: Connection;
let temporal: Client;
beforeAll(async () => {
  product = await sharedProduct();
  connection = await Connection.connect({ address: runningServers().temporalAddress });
  temporal = new Client({ connection });
});
afterAll(async () => {
  await connection.close();
  await product.close();
});

async function count(table: string, column: string, id: string): Promise<number> {
  const { rows } = await product.database.pool.query(
    `select count(*)::int as count from ${table} where ${column} = $1`,
    [id],
  );
  return rows[0].count;
}

const temporalStatus = async (runId: string) =>
  (await temporal.workflow.getHandle(runWorkflowId(runId)).describe()).status.name;

/** Starts a run that takes minutes, and waits until its model is being called. */
async function startSlowRun(workflowId: string): Promise<string> {
  const { body } = await product.api.post(`/v1/workflows/${workflowId}/execute`, { async: true, input: 'x' });
  const runId: string = body.data.runId;
  await until('the slow step is running', async () => {
    const { body } = await product.api.get(`/v1/runs/${runId}`, { 'x-api-variant': 'B' });
    return body.data.stepResults[0]?.status === 'running';
  });
  return runId;
}

test('a deleted workflow and its runs are gone from every read at once', async () => {
  const { api } = product;
  const { id, wf } = await makeWorkflow(api);
  const executed = await api.post(`/v1/workflows/${id}/execute`, { input: 'x' });
  const { runId } = executed.body.data;
  expect(await api.delete(`/v1/workflows/${id}`)).toMatchObject({
    status: 200,
    body: { success: true, data: { deleted: true } },
  });

  const gone = { status: 404, body: { error: { code: 'workflow_not_found', details: { workflowId: id } } } };
  expect(await api.get(`/v1/workflows/${id}`)).toMatchObject(gone);
  expect(await api.patch(`/v1/workflows/${id}`, { name: 'x' })).toMatchObject(gone);
  expect(await api.post(`/v1/workflows/${id}/execute`, { input: 1 })).toMatchObject(gone);
  expect(await api.get(`/v1/workflows/${id}/runs`)).toMatchObject(gone);
  expect(await api.delete(`/v1/workflows/${id}`)).toMatchObject(gone);
  expect(await api.get(`/v1/runs/${runId}`)).toMatchObject({
    status: 404,
    body: { error: { code: 'run_not_found', details: { runId } } },
  });
  expect(await api.get(`/v1/workflows/${wf}`)).toMatchObject({
    status: 404,
    body: { error: { code: 'RESOURCE_NOT_FOUND', details: { workflowId: wf } } },
  });
  const { body } = await api.get('/v1/workflows?limit=100');
  expect(body.data.workflows).not.toContainEqual(expect.objectContaining({ id }));
});

test('deletes by either form of the id, and answers alike in B', async () => {
  const { wf } = await makeWorkflow(product.api);
  const answer = await product.api.delete(`/v1/workflows/${wf}`, inB);
  expect(answer).toMatchObject({ status: 200, body: { success: true, data: { deleted: true } } });
  expect(await product.api.get(`/v1/workflows/${wf}`)).toMatchObject({ status: 404 });
});

test('runs in flight are cancelled in Temporal, and every row is purged', async () => {
  const { api } = product;
  const { id } = await makeWorkflow(api, 'sandbox:slow=600');
  const quick = await makeWorkflow(api, 'quick {{input}}');
  const kept = await api.post(`/v1/workflows/${quick.id}/execute`, { input: 'kept' });
  const runIds = [await startSlowRun(id), await startSlowRun(id)];
  expect(await Promise.all(runIds.map(temporalStatus))).toEqual(['RUNNING', 'RUNNING']);

  await api.delete(`/v1/workflows/${id}`);
  await until('the runs are cancelled in Temporal', async () => {
    const statuses = await Promise.all(runIds.map(temporalStatus));
    return statuses.every((status) => status === 'CANCELLED');
  });
  await until('all rows are gone', async () => {
    const counts = await Promise.all([
      count('automation', 'id', id),
      count('definition', 'automation_id', id),
      count('run', 'automation_id', id),
      count('outbox', 'subject_id', id),
      ...runIds.flatMap((runId) => [count('run_step', 'run_id', runId), count('outbox', 'subject_id', runId)]),
    ]);
    return counts.every((found) => found === 0);
  });
  expect(await api.get(`/v1/runs/${kept.body.data.runId}`)).toMatchObject({ status: 200 });
  expect(await count('run', 'automation_id', quick.id)).toBe(1);
});

test('a run that was never taken up by Temporal does not come to life after the deletion', async () => {
  const { api } = product;
  const { id } = await makeWorkflow(api);
  // Deleted while requests are still on their way: each of them either made a run or found nothing.
  const executions = Array.from({ length: 20 }, () => api.post(`/v1/workflows/${id}/execute`, { async: true }));
  const deletion = api.delete(`/v1/workflows/${id}`);
  for (const { status } of await Promise.all(executions)) expect([200, 404]).toContain(status);
  expect(await deletion).toMatchObject({ status: 200 });
  await until('all rows are gone', async () => {
    const counts = await Promise.all([count('automation', 'id', id), count('run', 'automation_id', id)]);
    return counts.every((found) => found === 0);
  });
});

test('a caller that waits for a run of a deleted workflow gets 404', async () => {
  const { api } = product;
  const { id } = await makeWorkflow(api, 'sandbox:slow=600');
  const waiting = api.post(`/v1/workflows/${id}/execute`, { input: 'x' });
  await until('the run is there', async () => (await api.get(`/v1/workflows/${id}/runs`)).body.data.runs.length === 1);
  await api.delete(`/v1/workflows/${id}`);
  expect(await waiting).toMatchObject({ status: 404, body: { error: { code: 'workflow_not_found' } } });
});

test('the Idempotency-Keys of a deleted workflow are forgotten with it', async () => {
  const { api } = product;
  const { id } = await makeWorkflow(api);
  const { body } = await api.post(`/v1/workflows/${id}/execute`, { input: 'x' }, { 'idempotency-key': 'deleted' });
  const { runId } = body.data;
  expect(await count('idempotency', 'resource_id', runId)).toBe(1);
  await api.delete(`/v1/workflows/${id}`);
  await until('the claim is gone', async () => (await count('idempotency', 'resource_id', runId)) === 0);
});
