import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { priorities } from '../../../src/temporal/contracts/priorities.ts';
import { webhookMessages, webhookWorkflowId } from '../../../src/temporal/contracts/webhooks.ts';
import { organizationIds } from '../../../src/tenancy/core/ids.ts';
import { webhookIds } from '../../../src/webhooks/core/ids.ts';
import { runningServers } from '../../servers.ts';
import { until } from '../../until.ts';
import { deadLetter } from '../../webhooks/dead-letter.ts';
import { type SharedWebhookScene, sharedWebhookScene } from '../../webhooks/scene.ts';

let scene: SharedWebhookScene;
let connection: Connection;
let client: Client;
beforeAll(async () => {
  [scene, connection] = await Promise.all([
    sharedWebhookScene(),
    Connection.connect({ address: runningServers().temporalAddress }),
  ]);
  client = new Client({ connection });
});
afterAll(async () => {
  await connection.close();
  await scene.close();
});

const uuidOf = (id: string) => webhookIds.parse(id)!;
const handleOf = (id: string) => client.workflow.getHandle(webhookWorkflowId(uuidOf(id)));
const statusOf = async (id: string) => (await handleOf(id).describe()).status.name;
const metadataOf = (id: string) =>
  handleOf(id).query<{
    definition: { signalDefinitions: { name: string; description: string }[] };
    currentDetails: string;
  }>('__temporal_workflow_metadata');
const says = (id: string, text: RegExp) =>
  until(`it says ${text}`, async () => {
    const { currentDetails } = await metadataOf(id).catch(() => ({ currentDetails: '' }));
    return text.test(currentDetails) && currentDetails;
  });
const ended = (id: string) => until('its workflow ends', async () => (await statusOf(id)) === 'COMPLETED');

/** A webhook whose deliveries fail with a far Retry-After until it is mended. */
async function failing(count: number, fields: object = {}) {
  let reply: { status: number; headers?: Record<string, string> } = { status: 503, headers: { 'retry-after': '3600' } };
  const subscribed = await scene.subscribe({ events: ['workflow.run.failed'], ...fields }, () => reply);
  const send = () => scene.api.post(`/v1/webhooks/${subscribed.id}/test`);
  for (let sent = 0; sent < count; sent++) await send();
  const all = (status: string) =>
    until(`all are ${status}`, async () => {
      const deliveries = await scene.deliveries(subscribed.id);
      return deliveries.length >= count && deliveries.every((one) => one.status === status);
    });
  await all('retrying');
  const mend = () => {
    reply = { status: 200 };
  };
  return { ...subscribed, send, all, mend, requests: () => scene.receiver.to(subscribed.path).length };
}

test('one workflow for a webhook says what waits, and an operator makes it all due', async () => {
  const { id, all, mend, requests } = await failing(3);
  const details = await says(id, /3 deliveries wait/);
  expect(details).toMatch(/^Webhook `Ours` at `127\.0\.0\.1:\d+`: /);
  expect(details).toMatch(/the next attempt is due at \d\d:\d\d:\d\d UTC, last answer 503\. As of/);
  const { definition } = await metadataOf(id);
  const described = definition.signalDefinitions.filter(({ description }) => description).map(({ name }) => name);
  expect(described.sort()).toEqual(Object.values(webhookMessages).sort());
  const { taskQueue, searchAttributes, priority } = await handleOf(id).describe();
  expect(taskQueue).toBe(`${scene.product.taskQueuePrefix}webhooks`);
  const organization = organizationIds.parse(scene.tenant.organizationId)!;
  expect(searchAttributes).toMatchObject({ OrgId: [organization], ResourceId: [uuidOf(id)] });
  expect(priority).toMatchObject({ priorityKey: priorities.retry, fairnessKey: organization });

  mend();
  await handleOf(id).signal(webhookMessages.retryNow, 'whatever');
  await all('delivered');
  expect(requests()).toBe(6);
  await ended(id);
});

test('while it is paused nothing is sent, even if its workflow is ended', async () => {
  const { id, send, all, mend, requests } = await failing(1);
  await says(id, /1 delivery waits/);
  await handleOf(id).signal(webhookMessages.pause);
  await says(id, /\*\*Paused\*\* since .* nothing is sent .*1 delivery waits/);
  // An attempt may have begun before the pause.
  await until('no attempt is under way', async () => {
    const { rows } = await scene.product.database.pool.query(
      'select from delivery where subscription_id = $1 and leased_until > clock_timestamp()',
      [uuidOf(id)],
    );
    return rows.length === 0;
  });
  const sent = requests();
  mend();
  await send();
  await handleOf(id).terminate();
  await until('it has a workflow again', async () => (await statusOf(id)) === 'RUNNING');
  await handleOf(id).signal(webhookMessages.retryNow);
  await says(id, /Paused/);
  // The dispatchers have looked for what is due since the webhook was paused.
  const other = await scene.subscribe();
  await scene.api.post(`/v1/webhooks/${other.id}/test`);
  await scene.reaches(other.id, 'delivered');
  expect(requests()).toBe(sent);
  expect((await scene.deliveries(id)).map(({ heldBack }) => heldBack?.reason)).toEqual(['paused', 'paused']);

  await handleOf(id).signal(webhookMessages.resume);
  await handleOf(id).signal(webhookMessages.retryNow);
  await all('delivered');
  expect(requests()).toBe(sent + 2);
  await ended(id);
});

test('it goes on in a new history when the old one is long', async () => {
  const { id, all, mend } = await failing(1);
  await says(id, /1 delivery waits/);
  const { runId } = await handleOf(id).describe();
  const megabyte = 'x'.repeat(1024 * 1024);
  for (let count = 0; count < 5; count++) await handleOf(id).signal(webhookMessages.wake, megabyte);
  await until('another history has begun', async () => (await handleOf(id).describe()).runId !== runId);
  mend();
  await handleOf(id).signal(webhookMessages.retryNow);
  await all('delivered');
  await ended(id);
});

test('it ends when its webhook is turned off or deleted, and the next failure starts it anew', async () => {
  const { id, path, all } = await failing(1);
  await says(id, /1 delivery waits/);
  await scene.api.patch(`/v1/webhooks/${id}`, { isActive: false });
  await all('dead_lettered');
  await ended(id);
  expect(await says(id, /0 deliveries wait/)).toMatch(/1 dead letter/);
  await scene.api.patch(`/v1/webhooks/${id}`, { isActive: true });
  await scene.api.post(`/v1/webhooks/${id}/test`);
  await scene.receiver.has(path, 2);
  await until('it has a workflow again', async () => (await statusOf(id)) === 'RUNNING');
  await scene.api.delete(`/v1/webhooks/${id}`);
  await ended(id);
});

test('dead letters beyond the newest thousand of a webhook have no workflow, and are replayed all the same', async () => {
  const { pool } = scene.product.database;
  const letters = [await deadLetter(scene), await deadLetter(scene)];
  const [letter, other] = letters as [(typeof letters)[number], (typeof letters)[number]];
  const isOpen = async (workflowId: string) => (await client.workflow.getHandle(workflowId).describe()).status.name;
  const parkedBy = (of: typeof letter) =>
    until('it is parked', async () => {
      const { rows } = await pool.query('select from delivery where id = $1 and isfinite(parked_at)', [of.uuid]);
      return rows.length === 1;
    });
  for (const one of letters) await parkedBy(one);
  // A thousand newer ones, which need no workflows here.
  await pool.query(
    `insert into delivery (id, organization_id, environment, subscription_id, event_id, event_type, status, attempts,
                           schedule_attempts, response_body_truncated, created_at, finished_at, parked_at)
     select uuidv7(), organization_id, environment, subscription_id, uuidv7(), event_type, 'dead_lettered', 1, 1, false,
            created_at + interval '1 minute', now(), now()
       from delivery, generate_series(1, 1000) where id = $1`,
    [letter.uuid],
  );
  // The next one of this webhook makes the next pass look at it.
  await scene.api.post(`/v1/webhooks/${letter.id}/test`);
  await until('its workflow ends', async () => (await isOpen(letter.workflowId)) === 'COMPLETED');
  expect(await client.workflow.getHandle(letter.workflowId).result()).toBe('dead_lettered');
  expect(await isOpen(other.workflowId)).toBe('RUNNING');
  letter.mend();
  const path = `/v1/webhooks/${letter.id}/deliveries/${letter.deliveryId}/replay`;
  expect((await scene.api.post(path)).status).toBe(202);
  const status = () => pool.query('select status from delivery where id = $1', [letter.uuid]);
  await until('it is delivered', async () => (await status()).rows[0].status === 'delivered');
});
