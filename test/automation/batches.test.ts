import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ApiClient } from '../api-client.ts';
import { apiClient } from '../api-client.ts';
import { newHold } from '../hold.ts';
import { sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  const { testKey } = await product.createTenant({ plan: 'team' });
  api = apiClient(product.process.api, testKey);
});
afterAll(() => product.close());

const inA = { 'x-api-variant': 'A' };
const start = (id: string, body: object, headers: Record<string, string> = {}) =>
  api.post(`/api/v1/workflows/${id}/batch`, body, { ...inA, ...headers });
const read = async (batchId: string) => (await api.get(`/api/v1/batches/${batchId}`, inA)).body.data;
const ended = (batchId: string) =>
  until('the batch has ended', async () => {
    const batch = await read(batchId);
    return batch.completedAt !== null && batch;
  });
const listed = async (query: string) => (await api.get(`/api/v1/runs?limit=100&${query}`, inA)).body.data;

test('a batch starts a run for each item, and ends with the last of them', async () => {
  const { id } = await makeWorkflow(api);
  const items = Array.from({ length: 30 }, (_, n) => ({ input: n % 10 === 0 ? 'sandbox:fail' : `x${n}`, tags: ['b'] }));
  const { status, body } = await start(id, { items, name: 'Thirty' });
  expect([status, body.data.total]).toEqual([202, 30]);
  const batch = await ended(body.data.batchId);
  expect(batch).toMatchObject({ name: 'Thirty', workflowId: id, status: 'completed' });
  expect(batch.counts).toEqual({
    total: 30,
    reused: 0,
    skipped: 0,
    queued: 0,
    running: 0,
    completed: 27,
    failed: 3,
    cancelled: 0,
  });
  const { runs, pagination } = await listed(`batchId=${body.data.batchId}`);
  expect(pagination.total).toBe(30);
  expect(runs[0]).toMatchObject({ triggeredBy: { type: 'batch', batchId: batch.id }, batchId: batch.id, tags: ['b'] });
  expect(runs.map(({ input }: { input: { input: string } }) => input.input)).toEqual(
    items.map(({ input }) => input).toReversed(),
  );
  const { batches } = (await api.get('/api/v1/batches', inA)).body.data;
  expect(batches[0].id).toBe(batch.id);
});

test('an item whose key was used stands for the run of the earlier request', async () => {
  const { id } = await makeWorkflow(api);
  const key = `k-${Date.now()}`;
  const earlier = await api.post(`/api/v1/workflows/${id}/execute`, { input: 'a' }, { ...inA, 'Idempotency-Key': key });
  const items = [
    { input: 'a', idempotencyKey: key },
    { input: 'b', idempotencyKey: `${key}-b` },
    { input: 'b', idempotencyKey: `${key}-b` },
    { input: 'c' },
  ];
  const { body } = await start(id, { items });
  const { counts } = await ended(body.data.batchId);
  expect(counts).toMatchObject({ total: 4, reused: 2, completed: 2 });
  expect((await listed(`workflowId=${id}`)).pagination.total).toBe(3);
  expect((await listed(`batchId=${body.data.batchId}`)).pagination.total).toBe(2);
  const later = await api.post(
    `/api/v1/workflows/${id}/execute`,
    { input: 'b' },
    { ...inA, 'Idempotency-Key': `${key}-b` },
  );
  expect(later.headers.get('idempotent-replayed')).toBe('true');
  expect(earlier.body.data.runId).not.toBe(later.body.data.runId);
});

test('all of a batch is accepted, or nothing', async () => {
  const { id } = await makeWorkflow(api, { inputs: [{ name: 'n', type: 'number', required: true }] });
  const { status, body } = await start(id, { items: [{ variables: { n: 1 } }, { variables: {} }] });
  expect([status, body.error.details.errors[0].path]).toEqual([400, 'items.1.inputs.n']);
  expect((await listed(`workflowId=${id}`)).pagination.total).toBe(0);
  expect((await start(id, { items: [] })).status).toBe(400);
  expect((await start(id, { items: Array.from({ length: 1_001 }, () => ({})) })).status).toBe(400);
});

test('a repeated request gets the batch that the first one started', async () => {
  const { id } = await makeWorkflow(api);
  const headers = { 'Idempotency-Key': `batch-${Date.now()}` };
  const [first, second] = [await start(id, { items: [{}] }, headers), await start(id, { items: [{}] }, headers)];
  expect(second.body.data).toEqual(first.body.data);
  await ended(first.body.data.batchId);
});

test('cancelling a batch cancels what has not ended, and its event follows', async () => {
  const { id } = await makeWorkflow(api, {
    steps: [{ id: 'say', type: 'prompt', prompt: 'sandbox:slow=600' }],
    concurrency: { limit: 1, strategy: 'queue' },
  });
  const { body } = await start(id, { items: Array.from({ length: 5 }, () => ({})) });
  await until('one runs', async () => (await read(body.data.batchId)).counts.running === 1);
  expect((await read(body.data.batchId)).counts.queued).toBe(4);
  const cancelled = (await api.post(`/api/v1/batches/${body.data.batchId}/cancel`, {}, inA)).body.data;
  expect(cancelled).toMatchObject({ status: 'cancelled', counts: { cancelled: 5 } });
  expect(cancelled.completedAt).not.toBeNull();
});

describe('limits', () => {
  test('a free organization has one open batch, and a day that holds 999 items', async () => {
    const { testKey } = await product.createTenant({ plan: 'free' });
    const free = apiClient(product.process.api, testKey);
    const { id } = await makeWorkflow(free);
    const items = Array.from({ length: 1_000 }, () => ({}));
    const all = await free.post(`/api/v1/workflows/${id}/batch`, { items }, inA);
    expect([all.status, all.body.error.code]).toEqual([429, 'rate_limit_exceeded']);
    const delayed = await free.post(`/api/v1/workflows/${id}/batch`, { items: [{ delay: 600 }] }, inA);
    expect(delayed.status).toBe(202);
    const second = await free.post(`/api/v1/workflows/${id}/batch`, { items: [{}] }, inA);
    expect([second.status, second.body.error.details]).toEqual([403, { limit: 1, plan: 'free' }]);
  });
});

test('a batch skips what the concurrency of its workflow leaves out', async () => {
  const hold = newHold(product.database);
  const { id } = await makeWorkflow(api, {
    steps: [{ id: 'say', type: 'prompt', prompt: hold.word }],
    concurrency: { limit: 2, strategy: 'skip', key: 'input.of' },
  });
  const items = Array.from({ length: 8 }, (_, n) => ({ input: { of: n % 2 === 0 ? 'a' : 'b' } }));
  const { body } = await start(id, { items });
  await until('four are skipped', async () => (await read(body.data.batchId)).counts.skipped === 4);
  await hold.release();
  expect((await ended(body.data.batchId)).counts).toMatchObject({ total: 8, skipped: 4, completed: 4 });
});
