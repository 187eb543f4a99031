import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { newHold } from '../hold.ts';
import { sharedProduct } from '../product.ts';
import { creditsOf } from './files.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
afterAll(() => product.close());

const enhance = (body: object, headers?: Record<string, string>, on = api) =>
  on.post('/api/studio/enhance-prompt', body, headers);

test('a prompt is improved for free, and nothing is kept of it', async () => {
  const tenant = apiClient(product.process.api, (await product.createTenant({ plan: 'free' })).testKey);
  const before = await creditsOf(tenant);
  const { status, body } = await enhance({ prompt: 'A red bicycle', style: 'noir' }, undefined, tenant);
  expect(status).toBe(200);
  expect(body.data).toEqual({ original: 'A red bicycle', enhanced: expect.stringContaining('A red bicycle') });
  expect(body.data.enhanced).not.toBe(body.data.original);
  expect(await creditsOf(tenant)).toEqual(before);
  expect((await tenant.get('/api/studio/history')).body.data.total).toBe(0);
});

test('an overloaded model is asked again', async () => {
  expect((await enhance({ prompt: 'sandbox:overloaded A boat' })).status).toBe(200);
});

test('one Idempotency-Key is one answer; while it is in progress another request gets 409', async () => {
  const hold = newHold(product.database);
  const slow = { prompt: hold.word };
  const key = { 'idempotency-key': 'one' };
  const sent = [enhance(slow, key), enhance(slow, key)];
  expect((await Promise.race(sent)).status).toBe(409);
  await hold.release();
  const both = await Promise.all(sent);
  const statuses = both.map(({ status }) => status);
  expect([...statuses].sort()).toEqual([200, 409]);
  expect(both[statuses.indexOf(409)]!.body.error.code).toBe('idempotency_in_progress');
  const replay = await enhance(slow, key);
  expect(replay.body).toEqual(both[statuses.indexOf(200)]!.body);
  expect(replay.headers.get('idempotent-replayed')).toBe('true');
  expect((await enhance({ prompt: 'Another' }, key)).status).toBe(422);
});

test.each([
  [{}, 'prompt'],
  [{ prompt: ' ' }, 'prompt'],
  [{ prompt: 'é'.repeat(4_001) }, 'prompt'],
  [{ prompt: 'x', style: 'é'.repeat(201) }, 'style'],
  [{ prompt: 'x', style: null }, 'style'],
])('is refused where the request is wrong: %#', async (body, path) => {
  const { status, body: answer } = await enhance(body);
  expect([status, answer.error.details.errors[0].path]).toEqual([400, path]);
});

test('needs a provider with a live key, and leaves its Idempotency-Key free', async () => {
  const live = apiClient(product.process.api, (await product.createTenant()).liveKey);
  for (const prompt of ['One', 'Two']) {
    const { body } = await enhance({ prompt }, { 'idempotency-key': 'live' }, live);
    // The claim of a request that could not be tried is given up: another body may use the key.
    expect(body.error).toMatchObject({ code: 'provider_not_configured', details: { provider: 'GOOGLE' } });
  }
});

// The others go on while they wait: a model that is out of order is asked again for 15 seconds.
test.concurrent.each([
  ['sandbox:fail', 'provider_error'],
  ['sandbox:fail@gemini-2.0-flash', 'provider_error'],
  ['sandbox:refuse', 'content_policy'],
  ['sandbox:timeout', 'timeout'],
])('%s fails with the reason %s, and is the answer of its Idempotency-Key', async (prompt, reason) => {
  const key = { 'idempotency-key': `fails ${reason} ${prompt}` };
  for (const replayed of [null, 'true']) {
    const { status, body, headers } = await enhance({ prompt }, key);
    expect([status, body.error.code, body.error.details]).toEqual([500, 'ai_provider_error', { reason }]);
    expect(headers.get('idempotent-replayed')).toBe(replayed);
  }
});
