import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { newId } from '../../src/platform/ids.ts';
import { runWorkflowId } from '../../src/temporal/contracts/automation.ts';
import { priorities } from '../../src/temporal/contracts/priorities.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { deadLetter } from './dead-letter.ts';
import { inA, type SharedWebhookScene, sharedWebhookScene } from './scene.ts';

let scene: SharedWebhookScene;
let connection: Connection;
let client: Client;
beforeAll(async () => {
  scene = await sharedWebhookScene();
  connection = await Connection.connect({ address: runningServers().temporalAddress });
  client = new Client({ connection });
});
afterAll(async () => {
  await connection.close();
  await scene.close();
});

const described = (workflowId: string) =>
  until(`${workflowId} is there`, () =>
    client.workflow
      .getHandle(workflowId)
      .describe()
      .catch(() => undefined),
  );

test('a dead letter waits in the queue of webhooks with the lowest priority, a run in its own with the highest', async () => {
  const { workflowId } = await deadLetter(scene);
  const [ofLetter, ofRun] = [await described(workflowId), await described(runWorkflowId(await scene.run()))];
  const { taskQueuePrefix } = scene.product;
  expect([ofLetter.taskQueue, ofRun.taskQueue]).toEqual([`${taskQueuePrefix}webhooks`, `${taskQueuePrefix}runs`]);
  const fairnessKey = organizationIds.parse(scene.tenant.organizationId);
  expect(ofLetter.priority).toMatchObject({ priorityKey: priorities.background, fairnessKey });
  expect(ofRun.priority).toMatchObject({ priorityKey: priorities.prompt, fairnessKey });
});

test('thousands of due entries of webhooks in the outbox hold up neither the start of a run nor the sweep of runs', async () => {
  const { pool } = scene.product.database;
  const { api } = scene;
  const runOf = async (runId: string) => (await api.get(`/v1/runs/${runId}`, inA)).body.data;
  // Again where a machine was so busy that the backlog was done before anybody looked at the runs.
  await until('the runs go on beside the backlog', async () => {
    const { id } = await makeWorkflow(api, 'sandbox:slow=600');
    const { body } = await api.post(`/v1/workflows/${id}/execute`, { input: '', async: true }, inA);
    const under = body.data.runId;
    await until('it runs', async () => (await runOf(under)).status === 'RUNNING');

    const correlationId = `backlog-${newId()}`;
    const isLeft = `from outbox where correlation_id = $1`;
    // As many again when half of them are done: how many are, before the runs are swept, depends on the machine.
    const fill = () =>
      pool.query(
        `insert into outbox (id, organization_id, environment, kind, subject_id, correlation_id, attempts, created_at, available_at)
         select uuidv7(), organization_id, environment, 'webhook.wake', uuidv7(), $2::text, 0, now(), now()
           from run, generate_series(1, 6000)
          where run.id = $1 and (select count(*) from outbox where correlation_id = $2::text) < 3000`,
        [under, correlationId],
      );
    await fill();
    // It is not attempted right after a commit, and it is due after all of those.
    const left = newId();
    await pool.query(
      `with queued as (
         insert into run select (jsonb_populate_record(r, jsonb_build_object(
           'id', $2::text, 'number', 2, 'status', 'queued', 'started_at', null))).* from run r where id = $1
         returning *)
       insert into outbox (id, organization_id, environment, kind, subject_id, correlation_id, attempts, created_at, available_at)
       select uuidv7(), organization_id, environment, 'run.start', id, 'backlog', 0, now(), clock_timestamp() from queued`,
      [under, left],
    );
    await client.workflow.getHandle(runWorkflowId(under)).terminate();
    const reaches = (runId: string, status: string) =>
      until(`${runId} is ${status}`, async () => {
        const isReached = (await runOf(runId)).status === status;
        if (!isReached) await fill();
        return isReached;
      });
    await reaches(left, 'RUNNING');
    await reaches(under, 'FAILED');
    const { rowCount } = await pool.query(`select ${isLeft} limit 1`, [correlationId]);
    await pool.query(`delete ${isLeft}`, [correlationId]);
    await api.delete(`/v1/workflows/${id}`, inA);
    return rowCount === 1;
  });
});
