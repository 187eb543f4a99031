import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { CpuMeter, cpuBetween } from '../../bench/cpu-meter.ts';
import { workflowIds } from '../../src/automation/core/ids.ts';
import { apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { connectInSandbox } from '../integrations/connect-in-sandbox.ts';
import { eventsUrl } from '../integrations/events-scene.ts';
import { providerEvents } from '../integrations/provider-events.ts';
import { openImageServer } from '../studio/image-server.ts';
import { blank, textBomb } from '../studio/pictures.ts';
import { until } from '../until.ts';
import { type MeasuredProduct, startMeasured } from './measured-product.ts';
import { exchange } from './requests.ts';

// What once stopped the product, each as it was done.
jest.setTimeout(600_000);

let product: MeasuredProduct;

beforeAll(async () => {
  product = await startMeasured({ EGRESS_ALLOW_CIDRS: '127.0.0.0/8' });
});
afterAll(() => product.close());

const withKey = () => ({ authorization: `Bearer ${product.testKey}`, 'content-type': 'application/json' });
const list = (length: number) => Array.from({ length }, (_, index) => index);

test('a step with a hundred thousand warnings keeps few of them', async () => {
  const { api, process, walk } = product;
  const step = {
    id: 'say',
    type: 'prompt',
    prompt: list(60_000)
      .map((index) => `{{m${index}}}`)
      .join(''),
  };
  const { id } = await makeWorkflow(api, { steps: [step] });
  const door = 'POST /api/v1/workflows/{id}/execute';
  await walk.send({ door, name: 'a hundred thousand warnings' }, () =>
    exchange(process.api, { method: 'POST', path: `/api/v1/workflows/${id}/execute`, body: '{}', headers: withKey() }),
  );
  const { runs } = (await api.get(`/api/v1/workflows/${id}/runs`)).body.data;
  const path = `/api/v1/runs/${runs[0].id}`;
  await walk.send({ door: 'GET /api/v1/runs/{id}', name: 'a run with a hundred thousand warnings' }, () =>
    exchange(process.api, { method: 'GET', path, headers: withKey() }),
  );
  expect(walk.takeExcesses()).toEqual([]);
});

test('prompts that repeat a large input leave the process to others in between', async () => {
  const { api, process, walk, database } = product;
  const steps = list(4).map((index) => ({ id: `s${index}`, type: 'prompt', prompt: '{{input}}'.repeat(9) }));
  const { id } = await makeWorkflow(api, { steps });
  // Each character takes more bytes, or more characters of JSON, than one.
  const body = JSON.stringify({ input: 'é\\"\n'.repeat(40_000), mode: 'async' });
  const path = `/api/v1/workflows/${id}/execute`;
  const left = `select count(*)::int as runs from run where automation_id = $1 and status in ('queued', 'running')`;
  const door = 'POST /api/v1/workflows/{id}/execute';
  await walk.send({ door, name: 'six runs of prompts that repeat a large input' }, async () => {
    const sent = list(6).map(() => exchange(process.api, { method: 'POST', path, body, headers: withKey() }));
    const [first] = await Promise.all(sent);
    await until('the runs end', async () => {
      const { rows } = await database.pool.query(left, [workflowIds.parse(id)]);
      return rows[0].runs === 0;
    });
    return first!;
  });
  const { runs } = (await api.get(`/api/v1/workflows/${id}/runs`)).body.data;
  expect(new Set(runs.map(({ status }: { status: string }) => status))).toEqual(new Set(['COMPLETED']));
  expect(walk.takeExcesses()).toEqual([]);
});

test('a picture whose text takes gigabytes costs little, in all processes', async () => {
  const meter = new CpuMeter();
  meter.watch('product', product.process.pid);
  const server = await openImageServer({ '/bomb.png': textBomb(await blank(64, 64).png().toBuffer()) });
  const send = () =>
    exchange(product.process.api, {
      method: 'POST',
      path: '/api/studio/upscale',
      headers: withKey(),
      body: JSON.stringify({ imageUrl: server.at('/bomb.png') }),
    });
  const before = meter.read();
  await product.walk.send({ door: 'POST /api/studio/upscale', name: 'a picture with gigabytes of text' }, send);
  const cost = cpuBetween(before, meter.read())?.byName.get('product') ?? 0;
  await server.close();
  expect(cost).toBeLessThan(10_000);
  expect(product.walk.takeExcesses()).toEqual([]);
});

test('measurements of anything but web vitals are dropped', async () => {
  const beacons = list(100).map((index) => ({ name: `any${index}`, value: 1, path: '/' }));
  const sent = { method: 'POST', path: '/api/performance/vitals', headers: { 'content-type': 'application/json' } };
  await exchange(product.process.api, Object.assign({ body: JSON.stringify(beacons) }, sent));
  const { vitals } = (await product.api.get('/api/performance/vitals')).body;
  expect(vitals.filter(({ name }: { name: string }) => name.startsWith('any'))).toEqual([]);
});

test('fifty requests with one Idempotency-Key are all answered, and others meanwhile', async () => {
  const { api, process } = product;
  const steps = [{ id: 'say', type: 'prompt', prompt: '{{input}}' }];
  const headers = { 'idempotency-key': createHash('sha256').update(product.organizationId).digest('hex') };
  const same = list(50).map(() => api.post('/api/v1/workflows', { name: 'Once', steps }, headers));
  const others = list(10).map(() => apiClient(process.api, product.liveKey).get('/api/v1/workflows'));
  const answers = await Promise.all([...same, ...others]);
  expect(answers.map(({ status }) => status).filter((status) => status >= 400)).toEqual([]);
  expect(new Set((await Promise.all(same)).map(({ body }) => body.data.id)).size).toBe(1);
  await until('the process rests', async () => (await api.get('/api/v1/workflows')).status === 200);
});

// The last two leave work behind, which ends with the process.

test('a request of 1,000 events, with as many webhooks as the plan allows, writes a bounded number of rows', async () => {
  const { api, process, walk } = product;
  await connectInSandbox(api, process.api, 'hubspot');
  const { integrations } = (await api.get('/v1/integrations')).body.data;
  const { account, signingSecret } = integrations.find(({ id }: { id: string }) => id === 'hubspot').sandbox;
  const statuses = [];
  for (const index of list(25)) {
    const hook = { name: 'Hook', url: `https://hooks-${index}.example.com/`, events: ['hubspot.contact_created'] };
    statuses.push((await api.post('/api/v1/webhooks', hook)).status);
  }
  expect(statuses.filter((status) => status === 201)).toHaveLength(20);
  let sent = 0;
  const door = 'POST /api/v1/integrations/{integrationId}/events';
  const { status } = await walk.send({ door, name: '1,000 signed events' }, () => {
    const contacts = list(1_000).map((index) => providerEvents.hubspot.contact(Number(account), sent + index));
    sent += 1_000;
    const { body, headers } = providerEvents.hubspot.sign(signingSecret, contacts, eventsUrl('hubspot'));
    return exchange(process.api, { method: 'POST', path: '/api/v1/integrations/hubspot/events', body, headers });
  });
  expect(status).toBe(200);
  expect(walk.takeExcesses()).toEqual([]);
});

test('a batch of 1,000 items in 4 MiB holds nobody up', async () => {
  const { process, walk } = product;
  const { testKey } = await product.createTenant({ plan: 'enterprise' });
  const api = apiClient(process.api, testKey);
  const { id } = (await api.post('/api/v1/workflows', { name: 'Batch', steps: [] })).body.data;
  let sent = 0;
  const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' };
  const door = 'POST /api/v1/workflows/{id}/batch';
  const { status } = await walk.send({ door, name: '1,000 items with all that they may have' }, () => {
    sent++;
    const items = list(1_000).map((index) => ({
      input: 'x'.repeat(500),
      tags: list(10).map((tag) => `tag-${sent}-${index}-${tag}`),
      metadata: { text: 'y'.repeat(3_000) },
      idempotencyKey: `key-${sent}-${index}`,
      delay: 86_400,
    }));
    return exchange(process.api, {
      method: 'POST',
      path: `/api/v1/workflows/${id}/batch`,
      body: JSON.stringify({ items }),
      headers,
    });
  });
  expect(status).toBe(202);
  expect(walk.takeExcesses()).toEqual([]);
});

test("pictures and videos of one organization do not keep another's pictures waiting until they are done", async () => {
  const { api, process } = product;
  const image = (await api.post('/api/studio/generate', { prompt: 'A boat' })).body.data.url;
  let done = 0;
  const count = () => void done++;
  const attack = [
    ...list(12).map(() => api.post('/api/studio/upscale', { imageUrl: image, scale: 4 }).finally(count)),
    ...list(12).map((index) => api.post('/api/studio/generate-video', { prompt: `Waves ${index}` })),
  ];
  const another = apiClient(process.api, (await product.createTenant({ plan: 'free' })).testKey);
  const pictures = await Promise.all(
    list(4).map((index) => another.post('/api/studio/generate', { prompt: `${index}` })),
  );
  expect(pictures.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(done).toBeLessThan(12);
  void Promise.allSettled(attack);
});
