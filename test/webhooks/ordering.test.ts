import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { webhookIds } from '../../src/webhooks/core/ids.ts';
import { forgottenSweep } from '../../src/webhooks/dispatch/subject-order.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { until } from '../until.ts';
import type { Received, Script } from './receiver.ts';
import { inA, type SharedWebhookScene, sharedWebhookScene } from './scene.ts';

// biome-ignore lint/suspicious/noExplicitAny: a test reads what the published interface says
type Body = any;

let scene: SharedWebhookScene;
let workflow: string;
beforeAll(async () => {
  scene = await sharedWebhookScene();
  // Its runs are published as started, and as completed.
  workflow = (await makeWorkflow(scene.api, '{{input}}')).id;
});
afterAll(() => scene.close());

const started = 'workflow.run.started';
const completed = 'workflow.run.completed';
const pathOf = ({ id }: Body) => `/v1/webhooks/${id}`;

/** A webhook for both events of runs, in their order. */
const subscribe = (script?: Script, fields: object = {}) =>
  scene.subscribe({ events: [started, completed], ordering: 'subject', concurrency: 16, ...fields }, script);

/** Runs the workflow. @returns the run's id */
async function run(): Promise<string> {
  const { body } = await scene.api.post(`/v1/workflows/${workflow}/execute`, { inputs: {} }, inA);
  return body.data.runId;
}

const eventOf = ({ body }: Received): Body => JSON.parse(body);
const typesOf = (path: string, runId: string): string[] =>
  scene.receiver
    .to(path)
    .map(eventOf)
    .filter(({ data }) => data.id === runId)
    .map(({ type }) => type);
const reaches = (path: string, runId: string, types: string[]) =>
  until(`${types.join()} of ${runId}`, async () => typesOf(path, runId).length >= types.length).then(() =>
    expect(typesOf(path, runId)).toEqual(types),
  );
const entryOf = async (webhook: Body, runId: string, type: string): Promise<Body> => {
  const all = await scene.deliveries(webhook.id, `&eventType=${type}`);
  for (const entry of all) {
    const { data } = (await scene.api.get(`${pathOf(webhook)}/deliveries/${entry.id}`)).body;
    if (eventOf({ body: data.requestBody } as Received).data.id === runId) return entry;
  }
  return undefined;
};

/** Answers the first `times` requests about the first run with 500, and the others at once. */
function failing(times: number): { script: Script; failed(): string | undefined } {
  let first: string | undefined;
  let failures = 0;
  return {
    failed: () => first,
    script(_, request) {
      const { id } = eventOf(request).data;
      first ??= id;
      return id === first && failures++ < times ? { status: 500 } : { status: 200 };
    },
  };
}

describe('ordering by subject', () => {
  test('sends the next event of a run after the one before was taken, and those of others meanwhile', async () => {
    let open = 0;
    let maxOpen = 0;
    const underWay = new Set<string>();
    const overlapping: string[] = [];
    const { promise: mayEnd, resolve: answerAll } = Promise.withResolvers<void>();
    const webhook = await subscribe((_, request) => {
      const { id } = eventOf(request).data;
      if (underWay.has(id)) overlapping.push(id);
      underWay.add(id);
      maxOpen = Math.max(maxOpen, ++open);
      const answered = mayEnd.then(() => {
        underWay.delete(id);
        open--;
      });
      return { status: 200, after: answered };
    });
    const runs = await Promise.all(Array.from({ length: 8 }, run));
    // The first event of each run is under way while its next one waits.
    await scene.receiver.has(webhook.path, 8);
    await until('both events of each run are there', async () => (await scene.deliveries(webhook.id)).length === 16);
    answerAll();
    for (const runId of runs) await reaches(webhook.path, runId, [started, completed]);
    expect(overlapping).toEqual([]);
    expect(maxOpen).toBeGreaterThan(1);
    const { data } = (await scene.api.get(pathOf(webhook))).body;
    expect(data.ordering).toBe('subject');
  });

  test('a retry holds back its subject alone, and says so', async () => {
    let isDown = true;
    let failed: string | undefined;
    const webhook = await subscribe((_, request) => {
      const { id } = eventOf(request).data;
      failed ??= id;
      return { status: id === failed && isDown ? 500 : 200 };
    });
    const first = await run();
    await scene.receiver.has(webhook.path, 1);
    const others = await Promise.all(Array.from({ length: 4 }, run));
    for (const runId of others) await reaches(webhook.path, runId, [started, completed]);
    expect(new Set(typesOf(webhook.path, first))).toEqual(new Set([started]));
    const held = await entryOf(webhook, first, completed);
    expect(held).toMatchObject({ status: 'pending', attempts: 0, heldBack: { reason: 'order', until: null } });
    const { health } = (await scene.api.get(pathOf(webhook))).body.data;
    expect(health.waiting).toBeGreaterThan(0);
    isDown = false;
    await until('the second event comes', async () => typesOf(webhook.path, first).includes(completed));
    const types = typesOf(webhook.path, first);
    expect(types.length).toBeGreaterThan(2);
    expect(types).toEqual([...Array(types.length - 1).fill(started), completed]);
    await until('nothing waits', async () => (await scene.deliveries(webhook.id, '&status=pending')).length === 0);
  });

  test('a dead letter holds back nothing; replayed, it comes when no other is under way', async () => {
    const { script } = failing(1);
    const webhook = await subscribe(script, { maxAttempts: 1 });
    const runId = await run();
    await reaches(webhook.path, runId, [started, completed]);
    const dead = await until('the first is dead', async () => {
      const entry = await entryOf(webhook, runId, started);
      return entry?.status === 'dead_lettered' && entry;
    });
    expect((await scene.api.post(`${pathOf(webhook)}/deliveries/${dead.id}/replay`)).status).toBe(202);
    await reaches(webhook.path, runId, [started, completed, started]);
    const resent = await entryOf(webhook, runId, completed);
    expect((await scene.api.post(`${pathOf(webhook)}/deliveries/${resent.id}/resend`)).status).toBe(202);
    await reaches(webhook.path, runId, [started, completed, started, completed]);
  });

  test('a webhook that is turned off, and recovered, has what waited in its order', async () => {
    let isDown = true;
    const webhook = await subscribe(() => ({ status: isDown ? 500 : 200 }));
    const since = new Date(Date.now() - 60_000).toISOString();
    const runs = await Promise.all(Array.from({ length: 3 }, run));
    await until('all have begun', async () => runs.every((runId) => typesOf(webhook.path, runId).length > 0));
    await scene.api.patch(pathOf(webhook), { isActive: false });
    await until('all are dead letters', async () => {
      const dead = await scene.deliveries(webhook.id, '&status=dead_lettered');
      return dead.length === 6;
    });
    const later = await run();
    isDown = false;
    const before = scene.receiver.to(webhook.path).length;
    await scene.api.patch(pathOf(webhook), { isActive: true });
    expect((await scene.api.post(`${pathOf(webhook)}/recover`, { since })).status).toBe(202);
    await scene.receiver.has(webhook.path, before + 8);
    const arrived = scene.receiver.to(webhook.path).slice(before).map(eventOf);
    for (const runId of [...runs, later]) {
      expect(arrived.filter(({ data }) => data.id === runId).map(({ type }) => type)).toEqual([started, completed]);
    }
  });

  test('with a filter and thin bodies too', async () => {
    const filter = `event.type == "${started}" || event.data.status == "COMPLETED"`;
    const webhook = await subscribe(undefined, { filter, payload: 'thin' });
    const runId = await run();
    await reaches(webhook.path, runId, [started, completed]);
  });

  test('is chosen and given up for the events that come', async () => {
    const webhook = await subscribe(undefined, { ordering: 'none' });
    const first = await run();
    await until('both came', async () => typesOf(webhook.path, first).length === 2);
    expect((await scene.api.patch(pathOf(webhook), { ordering: 'subject' })).body.data.ordering).toBe('subject');
    await reaches(webhook.path, await run(), [started, completed]);
    expect((await scene.api.patch(pathOf(webhook), { ordering: 'none' })).body.data.ordering).toBe('none');
    const last = await run();
    await until('both came', async () => typesOf(webhook.path, last).length === 2);
    const refused = await scene.api.patch(pathOf(webhook), { ordering: 'strict' });
    expect(refused).toMatchObject({ status: 400, body: { error: { details: { errors: [{ path: 'ordering' }] } } } });
  });

  test('tests wait for nothing', async () => {
    const webhook = await subscribe((_, request) => ({ status: eventOf(request).type === started ? 500 : 200 }));
    await run();
    await scene.receiver.has(webhook.path, 1);
    expect((await scene.api.post(`${pathOf(webhook)}/test`)).status).toBe(202);
    await until('the test comes', async () =>
      scene.receiver.to(webhook.path).some((request) => eventOf(request).type === 'test.webhook'),
    );
    await scene.api.delete(pathOf(webhook));
  });

  test('what waits for a delivery that ended unseen is released after a while', async () => {
    const webhook = await subscribe((_, request) => ({ status: eventOf(request).type === started ? 500 : 200 }));
    const runId = await run();
    const held = () => entryOf(webhook, runId, completed);
    await until('the second one is held', async () => (await held())?.heldBack?.reason === 'order');
    // No part of the product does this.
    await scene.product.database.pool.query(
      `update delivery set status = 'failed', finished_at = now(), next_attempt_at = null
        where subscription_id = $1 and event_type = $2`,
      [webhookIds.parse(webhook.id), started],
    );
    // The sweep that looks for it every ten seconds.
    await forgottenSweep(scene.product.database)();
    await until('it is released', async () => typesOf(webhook.path, runId).includes(completed));
  });
});
