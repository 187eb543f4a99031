import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { latestAudit } from '../../src/platform/security/audit.ts';
import { deliveryMessages, webhookWorkflows } from '../../src/temporal/contracts/webhooks.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { webhookIds } from '../../src/webhooks/core/ids.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { type DeadLetter, deadLetter, openBreaker } from './dead-letter.ts';
import { openWebhookScene, type WebhookScene } from './scene.ts';

let scene: WebhookScene;
let connection: Connection;
let client: Client;
beforeAll(async () => {
  [scene, connection] = await Promise.all([
    openWebhookScene(),
    Connection.connect({ address: runningServers().temporalAddress }),
  ]);
  client = new Client({ connection });
});
afterAll(async () => {
  await connection.close();
  await scene.close();
});

const handleOf = ({ workflowId }: { workflowId: string }) => client.workflow.getHandle(workflowId);
const one = async ({ id }: DeadLetter) => (await scene.deliveries(id))[0];
const replayOverHttp = ({ id, deliveryId }: DeadLetter) =>
  scene.api.post(`/v1/webhooks/${id}/deliveries/${deliveryId}/replay`);

interface Metadata {
  definition: { type: string } & Record<
    'signalDefinitions' | 'updateDefinitions',
    { name: string; description: string }[]
  >;
  currentDetails: string;
}
/** On a busy machine a workflow may not answer in time: it is asked again. */
const metadataOf = (of: { workflowId: string }) =>
  until('the workflow answers', () =>
    handleOf(of)
      .query<Metadata>('__temporal_workflow_metadata')
      .catch(() => undefined),
  );

const attributesOf = async (of: { workflowId: string }) => (await handleOf(of).describe()).searchAttributes;
const parked = (of: { workflowId: string }) =>
  until('it is parked', async () => (await metadataOf(of)).currentDetails.includes('Dead-lettered'));

/** Given up, and its workflow says so. */
async function parkedLetter(fields?: object): Promise<DeadLetter> {
  const letter = await deadLetter(scene, fields);
  await until(
    'it has a workflow',
    async () =>
      (await handleOf(letter)
        .describe()
        .catch(() => undefined)) !== undefined,
  );
  await parked(letter);
  return letter;
}

describe('a dead letter in Temporal', () => {
  test('is found by its attributes', async () => {
    const letter = await parkedLetter();
    const uuids = {
      OrgId: organizationIds.parse(scene.tenant.organizationId)!,
      ResourceId: webhookIds.parse(letter.id)!,
    };
    expect(await attributesOf(letter)).toMatchObject({
      OrgId: [uuids.OrgId],
      ResourceId: [uuids.ResourceId],
      DeliveryStatus: ['dead_lettered'],
    });
    const query = `DeliveryStatus = 'dead_lettered' AND ResourceId = '${uuids.ResourceId}' AND OrgId = '${uuids.OrgId}'`;
    await until('the list shows it', async () => (await client.workflow.count(query)).count === 1);
  });

  test('says what happened and what can be done about it', async () => {
    const { definition, currentDetails } = await metadataOf(await parkedLetter());
    expect(currentDetails).toMatch(
      /Dead-lettered.*the webhook `Ours` at `127\.0\.0\.1:\d+` did not accept it: HTTP 500 after 1 attempt\b/,
    );
    const described = (of: { name: string; description: string }[]) =>
      of.filter(({ description }) => description).map(({ name }) => name);
    expect(described(definition.signalDefinitions)).toEqual(
      expect.arrayContaining([deliveryMessages.replay, deliveryMessages.discard]),
    );
    expect(described(definition.updateDefinitions)).toEqual([deliveryMessages.replayNow]);
  });

  test('is delivered by the signal replay, whatever comes with it', async () => {
    const letter = await parkedLetter();
    letter.mend();
    await handleOf(letter).signal(deliveryMessages.replay, 'some', { thing: 1 });
    expect(await handleOf(letter).result()).toBe('delivered');
    expect(await one(letter)).toMatchObject({ status: 'delivered', attempts: 2, replayable: false });
    expect((await attributesOf(letter)).DeliveryStatus).toEqual(['delivered']);
    expect((await metadataOf(letter)).currentDetails).toMatch(/Delivered/);
    const [entry] = await latestAudit(scene.product.database, organizationIds.parse(scene.tenant.organizationId)!, 1);
    expect(entry).toMatchObject({ action: 'delivery.replay', actor: 'operator', subjectId: letter.uuid });
  });

  test('returns its result from the update replayNow, also while its breaker is open', async () => {
    const letter = await parkedLetter();
    await openBreaker(scene, letter);
    const press = () => handleOf(letter).executeUpdate<string, [unknown]>(deliveryMessages.replayNow, { args: [null] });
    expect(await press()).toMatch(/Dead-lettered.*HTTP 500 after 2 attempts/);
    letter.mend();
    expect(await press()).toMatch(/Delivered/);
    expect(scene.receiver.to(letter.path)).toHaveLength(3);
  });

  test('returns why it is not replayed while its webhook is turned off', async () => {
    const letter = await parkedLetter();
    await scene.api.patch(`/v1/webhooks/${letter.id}`, { isActive: false });
    const press = () => handleOf(letter).executeUpdate<string, []>(deliveryMessages.replayNow);
    expect(await press()).toMatch(/turned off/);
    letter.mend();
    await scene.api.patch(`/v1/webhooks/${letter.id}`, { isActive: true });
    expect(await press()).toMatch(/Delivered/);
  });

  test('is given up for ever by the signal discard', async () => {
    const letter = await parkedLetter();
    await handleOf(letter).signal(deliveryMessages.discard, 'whatever');
    expect(await handleOf(letter).result()).toBe('failed');
    expect(await one(letter)).toMatchObject({ status: 'failed', errorClass: 'discarded', replayable: false });
    expect((await replayOverHttp(letter)).status).toBe(409);
    expect(scene.receiver.to(letter.path)).toHaveLength(1);
  });

  test('that is replayed over HTTP goes on in the workflow that waited', async () => {
    const letter = await parkedLetter();
    const { runId } = await handleOf(letter).describe();
    letter.mend();
    expect((await replayOverHttp(letter)).status).toBe(202);
    expect(await handleOf(letter).result()).toBe('delivered');
    expect(await handleOf(letter).describe()).toMatchObject({ runId, status: { name: 'COMPLETED' } });
  });

  test('whose server still fails has a whole new schedule, and is parked again', async () => {
    const letter = await parkedLetter({ maxAttempts: 2 });
    await handleOf(letter).signal(deliveryMessages.replay);
    await until('it was tried twice more', async () => (await one(letter)).attempts === 4);
    // Another one, because the first ended when the further attempts were to come.
    await until('it is parked again', async () => (await metadataOf(letter)).currentDetails.includes('4 attempts'));
    expect(await one(letter)).toMatchObject({ status: 'dead_lettered', replayable: true });
    expect((await attributesOf(letter)).DeliveryStatus).toEqual(['dead_lettered']);
  });
});

test.each(['terminated', 'cancelled'])('a dead-letter workflow that was %s is not missed', async (how) => {
  const letter = await parkedLetter();
  await (how === 'cancelled' ? handleOf(letter).cancel() : handleOf(letter).terminate());
  await until('it is over', async () => (await handleOf(letter).describe()).status.name !== 'RUNNING');
  letter.mend();
  expect((await replayOverHttp(letter)).status).toBe(202);
  await scene.reaches(letter.id, 'delivered');
  expect(scene.receiver.to(letter.path)).toHaveLength(2);
});

test('a workflow that an operator resets after its delivery sends nothing again', async () => {
  const letter = await parkedLetter();
  letter.mend();
  await handleOf(letter).signal(deliveryMessages.replay);
  await handleOf(letter).result();
  const { workflowId, runId } = await handleOf(letter).describe();
  const { events } = await client.workflow.getHandle(workflowId, runId).fetchHistory();
  const firstTask = events!.find(({ workflowTaskCompletedEventAttributes: attributes }) => attributes)!;
  await client.workflowService.resetWorkflowExecution({
    namespace: 'default',
    workflowExecution: { workflowId, runId },
    requestId: randomUUID(),
    reason: 'by mistake',
    workflowTaskFinishEventId: firstTask.eventId!,
  });
  expect(await client.workflow.getHandle(workflowId).result()).toBe('delivered');
  expect((await handleOf(letter).describe()).runId).not.toBe(runId);
  expect(await one(letter)).toMatchObject({ status: 'delivered', attempts: 2 });
  expect(scene.receiver.to(letter.path)).toHaveLength(2);
});

describe('redriveDeadLetters', () => {
  const start = (...args: unknown[]) =>
    client.workflow.start(webhookWorkflows.redriveDeadLetters, {
      workflowId: `redrive-${randomUUID()}`,
      taskQueue: `${scene.product.taskQueuePrefix}webhooks`,
      args,
    });
  const redrive = async (...args: unknown[]) => (await start(...args)).result();

  test('replays those that are meant', async () => {
    const [first, second] = [await parkedLetter(), await parkedLetter()];
    for (const { mend } of [first, second]) mend();
    expect(await redrive({ since: '2100-01-01T00:00:00Z' })).toEqual({ replayed: 0 });
    expect(await redrive({ organizationId: randomUUID() })).toEqual({ replayed: 0 });
    expect(await redrive({ webhookId: first.id, eventType: 'test.webhook', perSecond: 100 })).toEqual({
      replayed: 1,
    });
    await scene.reaches(first.id, 'delivered');
    expect((await one(second)).status).toBe('dead_lettered');
  });

  test.each([
    ['nothing', []],
    ['null', [null]],
    ['an empty object', [{}]],
  ])('with %s replays all whose webhook is turned on, each once', async (_, args) => {
    const [letter, off, failing] = [await parkedLetter(), await parkedLetter(), await parkedLetter()];
    await scene.api.patch(`/v1/webhooks/${off.id}`, { isActive: false });
    for (const { mend } of [letter, off]) mend();
    await redrive(...args);
    await scene.reaches(letter.id, 'delivered');
    await until('it failed again', async () => (await one(failing)).attempts === 2);
    expect((await one(off)).status).toBe('dead_lettered');
    expect(await handleOf(letter).result()).toBe('delivered');
    await parked(failing);
    expect(scene.receiver.to(failing.path)).toHaveLength(2);
  });

  test.each([
    [{ subscription: 'whk_1' }, /subscription/],
    [{ webhookId: 'nonsense' }, /webhookId/],
    [{ since: 'yesterday' }, /since/],
    [{ perSecond: 0 }, /perSecond/],
    [{ perSecond: 1e-12 }, /perSecond/],
    [{ perSecond: '20' }, /perSecond/],
    [['everything'], /object/],
    ['everything', /object/],
  ])('refuses %j at once', async (args, message) => {
    const failure = await redrive(args).catch((error) => error);
    expect(failure.cause.cause).toMatchObject({ type: 'InvalidArguments', message: expect.stringMatching(message) });
  });

  test('is there as a Schedule that is paused, whose trigger replays all', async () => {
    const letter = await parkedLetter();
    const schedule = client.schedule.getHandle(`${scene.product.taskQueuePrefix}redriveDeadLetters`);
    const hasNoTimes = async () => {
      const note = expect.stringContaining('Trigger');
      expect(await schedule.describe()).toMatchObject({ state: { paused: true, note }, info: { nextActionTimes: [] } });
    };
    await hasNoTimes();
    letter.mend();
    await schedule.trigger();
    await scene.reaches(letter.id, 'delivered');
    expect(await handleOf(letter).result()).toBe('delivered');
  });
});
