import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { removeOldGenerations } from '../../src/studio/remove-generations.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { endOf, makeWorkflow } from '../automation/make-workflow.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { creditsOf, pathOf } from '../studio/files.ts';
import { until } from '../until.ts';

/** What the plan `free` includes in the product `narrow`. */
const limit = 60_000;
let product: StartedProduct;
let base: string;
beforeAll(async () => {
  product = await sharedProduct('narrow');
  base = product.process.api;
});
afterAll(() => product.close());

/** Free but for its requests: on a busy machine, one that waits for a run asks more often than the plan allows in a minute. */
async function newTenant(): Promise<{ organizationId: string; api: ApiClient }> {
  const { database } = product;
  const { id: organizationId } = await createOrganization(database, { name: 'Test', plan: 'free', rateMinute: 10_000 });
  const { key } = await createKey(database, { organizationId, environment: 'test' });
  return { organizationId, api: apiClient(base, key) };
}
const newClient = async (): Promise<ApiClient> => (await newTenant()).api;

const refusal = { status: 403, body: { error: { code: 'forbidden', details: { limit, plan: 'free' } } } };
const generate = (api: ApiClient) => api.post('/api/studio/generate', { prompt: 'A lighthouse at dawn' });

test('who keeps as much as the plan includes generates nothing and pays nothing, until something is deleted', async () => {
  const api = await newClient();
  const images: { id: string; url: string }[] = [];
  for (;;) {
    const made = await generate(api);
    if (made.status === 403) break;
    expect(made.status).toBe(200);
    images.push(made.body.data);
  }
  const credits = await creditsOf(api);
  expect(await generate(api)).toMatchObject(refusal);
  expect(await api.post('/api/studio/generate-video', { prompt: 'Waves' })).toMatchObject(refusal);
  const form = new FormData();
  form.append('audio', new Blob([Buffer.alloc(2_000)]), 'a.wav');
  const uploaded = await api.post('/api/voice/stt', form);
  expect({ status: uploaded.status, body: uploaded.body }).toEqual({
    status: 403,
    body: { success: false, error: 'Forbidden' },
  });
  expect((await api.post('/api/voice/tts', { text: 'Hello', voice: 'nova' })).status).toBe(403);
  expect(await creditsOf(api)).toEqual(credits);

  for (const { id, url } of images) {
    expect(await api.delete(`/api/studio/generations/${id}`)).toMatchObject({
      status: 200,
      body: { data: { deleted: true } },
    });
    expect((await api.get(`/api/studio/generations/${id}`)).status).toBe(404);
    await until('the file is gone', async () => !existsSync(pathOf(url)));
  }
  expect((await api.get('/api/studio/history')).body.data).toMatchObject({ total: 0, items: [] });
  expect((await api.delete(`/api/studio/generations/${images[0]!.id}`)).status).toBe(404);
  await until('there is space again', async () => (await generate(api)).status === 200);
});

test('a step fails with storage_full, before its model is called', async () => {
  const api = await newClient();
  const { id } = await makeWorkflow(api, {
    steps: [
      { id: 'copy', type: 'transform', expression: 'input' },
      { id: 'say', type: 'prompt', prompt: 'x' },
    ],
  });
  const start = (input: string) => api.post(`/v1/workflows/${id}/execute`, { input, async: true });
  const first = (await start('x'.repeat(limit))).body.data.runId;
  expect(await endOf(api, first)).toMatchObject({ status: 'failed', error: { stepId: 'copy', code: 'storage_full' } });
  const second = (await start('small')).body.data.runId;
  expect(await endOf(api, second)).toMatchObject({ error: { stepId: 'copy', code: 'storage_full' } });
  expect((await api.delete(`/v1/runs/${first}`)).status).toBe(200);
  expect(await endOf(api, (await start('small')).body.data.runId)).toMatchObject({ status: 'completed' });
  // What one run adds counts for its own later steps.
  const third = (await start('y'.repeat(limit / 2))).body.data.runId;
  expect(await endOf(api, third)).toMatchObject({ status: 'failed', error: { stepId: 'say', code: 'storage_full' } });
  // A retry would store the output of the first step once more, or the input alone.
  expect(await api.post(`/v1/runs/${third}/retry`, { fromStep: 'say' })).toMatchObject(refusal);
  const fourth = (await start('z'.repeat(limit / 2))).body.data.runId;
  expect(await endOf(api, fourth)).toMatchObject({ error: { stepId: 'copy', code: 'storage_full' } });
  expect(await api.post(`/v1/runs/${fourth}/retry`)).toMatchObject(refusal);
});

test('a step that an event resumes fails with storage_full, too', async () => {
  const api = await newClient();
  const wait = { id: 'wait', type: 'event', event: 'order.paid' };
  const { id } = await makeWorkflow(api, { steps: [wait] });
  const waiting = (await api.post(`/v1/workflows/${id}/execute`, { input: 1, async: true })).body.data.runId;
  await until('it waits', async () => {
    const { body } = await api.get(`/v1/runs/${waiting}`);
    return body.data.waitingFor?.length === 1;
  });
  const copy = await makeWorkflow(api, { steps: [{ id: 'copy', type: 'transform', expression: 'input' }] });
  const full = await api.post(`/v1/workflows/${copy.id}/execute`, { input: 'x'.repeat(limit), async: true });
  await endOf(api, full.body.data.runId);
  const { body } = await api.post('/api/v1/events', { name: 'order.paid', data: { text: 'x'.repeat(2_000) } });
  expect(body.data).toMatchObject({ resumed: 1 });
  expect(await endOf(api, waiting)).toMatchObject({
    status: 'failed',
    error: { stepId: 'wait', code: 'storage_full' },
  });
});

test('responses that can be read again count until they are removed, and are refused where there is no space', async () => {
  const { organizationId, api } = await newTenant();
  const respond = (more: object = {}) =>
    api.post('/openai/v1/responses', { model: 'gpt-4o', input: 'Hello', instructions: 'x'.repeat(20_000), ...more });
  const used = async () =>
    (await api.get('/api/v1/limits')).body.data.limits.find(({ name }: { name: string }) => name === 'storageBytes')
      .used;
  expect((await respond({ store: false })).status).toBe(200);
  expect(await used()).toBe(0);
  expect((await respond()).status).toBe(200);
  expect(await used()).toBeGreaterThan(20_000);
  const later = await respond({ background: true });
  expect(later.status).toBe(200);
  await until('no more are stored', async () => (await respond()).status === 403);
  expect(await respond({ background: true })).toMatchObject({
    status: 403,
    body: { error: { code: 'forbidden', message: expect.stringContaining('are used up') } },
  });
  expect((await respond({ store: false })).status).toBe(200);
  expect((await api.get(`/openai/v1/responses/${later.body.id}`)).status).toBe(200);
  const of = [organizationIds.parse(organizationId)];
  await until('none is under way', async () => {
    const open = `from conversation_message where organization_id = $1 and status = 'processing'`;
    return (await product.database.pool.query(`select 1 ${open}`, of)).rowCount === 0;
  });
  await product.database.pool.query('delete from conversation_message where organization_id = $1', of);
  expect(await used()).toBe(0);
  expect((await respond()).status).toBe(200);
});

test('a generation under way is not deleted, and one of another organization is not found', async () => {
  const [api, other] = [await newClient(), await newClient()];
  const { id } = (await api.post('/api/studio/generate-video', { prompt: 'sandbox:slow=9000 Waves' })).body.data;
  expect(await api.delete(`/api/studio/generations/${id}`)).toMatchObject({
    status: 409,
    body: { error: { code: 'conflict' } },
  });
  expect((await other.delete(`/api/studio/generations/${id}`)).status).toBe(404);
  await api.post(`/api/studio/generate-video/${id}/cancel`);
  expect((await api.delete(`/api/studio/generations/${id}`)).status).toBe(200);
});

test('generations are removed when they ended longer ago than their plan keeps them', async () => {
  const api = await newClient();
  const { id, url } = (await generate(api)).body.data;
  const age = (days: number) =>
    product.database.pool.query(
      `update generation set finished_at = now() - make_interval(days => $2::int) where id = replace($1, 'gen_', '')::uuid`,
      [id, days],
    );
  await age(29);
  await removeOldGenerations(product.database);
  expect((await api.get(`/api/studio/generations/${id}`)).status).toBe(200);
  await age(31);
  await removeOldGenerations(product.database);
  expect((await api.get(`/api/studio/generations/${id}`)).status).toBe(404);
  expect((await fetch(new URL(new URL(url).pathname + new URL(url).search, base))).status).toBe(404);
});
