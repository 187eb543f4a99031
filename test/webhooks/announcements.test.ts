import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Connection } from '@temporalio/client';
import { reconcileRuns } from '../../src/automation/runs/reconcile.ts';
import { TemporalClient } from '../../src/temporal/client.ts';
import { runWorkflowId } from '../../src/temporal/contracts/automation.ts';
import { apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { inA, openWebhookScene, type WebhookScene, webhookEnv } from './scene.ts';

let scene: WebhookScene;
beforeAll(async () => {
  scene = await openWebhookScene();
  // Events are written for those who hear of something.
  await scene.subscribe({ events: ['api_key.expiring'] });
});
afterAll(() => scene.close());

/** The events of a run, in the order of their publication. */
async function eventsOf(runId: string): Promise<string[]> {
  const { rows } = await scene.product.database.pool.query<{ type: string }>(
    'select type from event where subject_id = $1 order by created_at, id',
    [runId],
  );
  return rows.map(({ type }) => type.replace('workflow.run.', ''));
}

const statusOf = async (runId: string) => (await scene.api.get(`/v1/runs/${runId}`, inA)).body.data.status;
const ends = (runId: string, status: string) =>
  until(`the run is ${status}`, async () => (await statusOf(runId)) === status);

async function startSlow(): Promise<{ runId: string; workflowId: string }> {
  const { id: workflowId } = await makeWorkflow(scene.api, 'sandbox:slow=600');
  const { body } = await scene.api.post(`/v1/workflows/${workflowId}/execute`, { inputs: {}, async: true }, inA);
  await ends(body.data.runId, 'RUNNING');
  return { runId: body.data.runId, workflowId };
}

test('a webhook that comes while a run is under way hears of what comes after', async () => {
  const { runId } = await startSlow();
  const { path, id } = await scene.subscribe({ events: ['*'] });
  await scene.api.post(`/v1/runs/${runId}/cancel`);
  const [request] = await scene.receiver.has(path, 1);
  expect(JSON.parse(request!.body)).toMatchObject({ type: 'workflow.run.cancelled', data: { id: runId } });
  expect(await scene.deliveries(id)).toHaveLength(1);
});

test('a run of a deleted workflow publishes no more events', async () => {
  const { runId, workflowId } = await startSlow();
  expect((await scene.api.delete(`/v1/workflows/${workflowId}`)).status).toBe(200);
  const { pool } = scene.product.database;
  const isOpen = "select from run where id = $1 and status in ('queued', 'running')";
  await until('the run is over', async () => (await pool.query(isOpen, [runId])).rowCount === 0);
  expect(await eventsOf(runId)).toEqual(['started']);
});

test('a retry is another run, and runs of the trigger are announced too', async () => {
  const { id } = await makeWorkflow(scene.api, 'sandbox:fail');
  const { body } = await scene.api.post(`/v1/workflows/${id}/execute`, { inputs: {} }, inA);
  const { runId } = body.error.details;
  const again = (await scene.api.post(`/v1/runs/${runId}/retry`, undefined, inA)).body.data.runId;
  const triggered = (await scene.api.post(`/api/v1/webhooks/${id}`, { any: 'thing' }, inA)).body.data.runId;
  expect(new Set([runId, again, triggered]).size).toBe(3);
  for (const one of [runId, again, triggered]) {
    await ends(one, 'FAILED');
    expect(await eventsOf(one)).toEqual(['started', 'failed']);
  }
});

test('a run whose workflow an operator ended has failed, once', async () => {
  const { runId } = await startSlow();
  const connection = await Connection.connect({ address: runningServers().temporalAddress });
  const { taskQueuePrefix, database } = scene.product;
  const temporal = new TemporalClient({ connection, namespace: 'default', taskQueuePrefix });
  await temporal.client.workflow.getHandle(runWorkflowId(runId)).terminate();
  const sweep = () => reconcileRuns(database, temporal, { everyMs: 0, batch: 100 });
  await until('it is found', async () => {
    await Promise.all([sweep(), sweep()]);
    return (await statusOf(runId)) === 'FAILED';
  });
  expect(await eventsOf(runId)).toEqual(['started', 'failed']);
  await connection.close();
});

test('a run that is cancelled before it began never started', async () => {
  await scene.process.stop();
  const front = await scene.product.start(['api'], webhookEnv);
  const api = apiClient(front.api, scene.tenant.testKey);
  const { id } = await makeWorkflow(api, 'x');
  const { body } = await api.post(`/v1/workflows/${id}/execute`, { inputs: {}, async: true }, inA);
  expect((await api.post(`/v1/runs/${body.data.runId}/cancel`)).status).toBe(200);
  expect(await eventsOf(body.data.runId)).toEqual(['cancelled']);
});
