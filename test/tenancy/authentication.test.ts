import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { generateKey } from '../../src/tenancy/key-format.ts';
import { createKey, listKeys } from '../../src/tenancy/keys.ts';
import { apiClient } from '../api-client.ts';
import { inB, makeWorkflow } from '../automation/make-workflow.ts';
import { type StartedProduct, sharedProduct, type Tenant } from '../product.ts';
import { until } from '../until.ts';
import { revoke } from './revoke.ts';

let product: StartedProduct;
let tenant: Tenant;
beforeAll(async () => {
  product = await sharedProduct();
  ({ tenant } = product);
});
afterAll(() => product.close());

const path = '/api/v1/workflows';
const request = (headers: Record<string, string>, at = path) => apiClient(product.process.api).get(at, headers);
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const issue = (more: object = {}) =>
  createKey(product.database, { organizationId: tenant.organizationId, environment: 'test', ...more });

/** A key with one character of its random part changed, and so with a checksum that is wrong. */
const mistyped = (key: string) => key.slice(0, 20) + (key[20] === 'a' ? 'b' : 'a') + key.slice(21);

/** Both dialects' refusals, whole: neither says more than it must. */
async function expectRefusal(headers: Record<string, string>, reason: string, at?: string) {
  const inA = await request(headers, at);
  expect(inA.status).toBe(401);
  expect(inA.body).toEqual({
    success: false,
    error: {
      code: 'unauthorized',
      message: expect.any(String),
      details: { reason },
      requestId: inA.headers.get('x-request-id'),
    },
  });
  expect(inA.headers.get('www-authenticate')).toBe('Bearer');
  const answerInB = await request({ ...headers, ...inB }, at);
  expect(answerInB.status).toBe(401);
  expect(answerInB.body).toEqual({ error: { code: reason, message: inA.body.error.message } });
}

describe('a good key', () => {
  test.each(['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer  '])('is taken after "%s"', async (scheme) => {
    expect(await request({ authorization: `${scheme} ${tenant.testKey}` })).toMatchObject({ status: 200 });
  });

  test('is taken as X-API-Key, and in both headers at once', async () => {
    expect(await request({ 'x-api-key': tenant.testKey })).toMatchObject({ status: 200 });
    expect(await request({ 'x-api-key': tenant.testKey, ...bearer(tenant.testKey) })).toMatchObject({ status: 200 });
  });

  test('two different keys are one too many', async () => {
    const answer = await request({ 'x-api-key': tenant.liveKey, ...bearer(tenant.testKey) });
    expect(answer).toMatchObject({ status: 400, body: { success: false, error: { code: 'validation_error' } } });
    expect(JSON.stringify(answer.body)).not.toContain('sk_');
  });

  test('is verified by /health, which names the organization and its plan', async () => {
    for (const prefix of ['/api/v1', '/v1']) {
      const { status, body } = await request(bearer(tenant.testKey), `${prefix}/health`);
      expect(status).toBe(200);
      expect(body).toEqual({ status: 'healthy', organization: 'Test', plan: 'enterprise' });
    }
    expect(await request({}, '/api/v1/health')).toMatchObject({ status: 401 });
  });

  test('leaves answers that no cache may keep', async () => {
    const answers = [
      await request(bearer(tenant.testKey)),
      await request(bearer(tenant.testKey), `${path}/unknown`),
      await request(bearer(tenant.testKey), `${path}?limit=0`),
      await request({ ...bearer(tenant.testKey), 'x-api-variant': 'C' }),
    ];
    for (const { headers } of answers) expect(headers.get('cache-control')).toBe('no-store');
  });

  test('shows when it was last used', async () => {
    const { id, key } = await issue();
    const lastUsed = async () => {
      const keys = await listKeys(product.database, tenant.organizationId);
      return keys.find((one) => one.id === id)!.lastUsedAt;
    };
    expect(await lastUsed()).toBeNull();
    await request(bearer(key));
    const at = await until('the use is noted', async () => (await lastUsed()) ?? false);
    expect(Math.abs(Date.now() - Date.parse(at))).toBeLessThan(60_000);
  });
});

describe('is refused', () => {
  test('a request without a key', async () => {
    await expectRefusal({}, 'missing_api_key');
  });

  test('a key in the query string, whatever it is called', async () => {
    for (const name of ['api_key', 'key', 'token', 'access_token']) {
      expect(await request({}, `${path}?${name}=${tenant.testKey}`)).toMatchObject({ status: 401 });
    }
  });

  test.each<[string, (good: string) => string]>([
    ['no key after the scheme', () => 'Bearer'],
    ['another scheme', (good) => `Basic ${Buffer.from(`${good}:`).toString('base64')}`],
    ['no scheme', (good) => good],
    ['two keys', (good) => `Bearer ${good} ${good}`],
    ['a list of credentials', (good) => `Bearer ${good}, Bearer ${good}`],
    ['a key of another shape', () => 'Bearer sk_prod_123'],
    ['a key cut short', (good) => `Bearer ${good.slice(0, -1)}`],
    ['a key with a letter more', (good) => `Bearer ${good}A`],
    ['a key with a wrong checksum', (good) => `Bearer ${mistyped(good)}`],
    ['a test key that calls itself live', (good) => `Bearer ${good.replace('sk_test_', 'sk_live_')}`],
    ['a key with quotes', (good) => `Bearer "${good}"`],
    ['a well-formed key that was never issued', () => `Bearer ${generateKey('test')}`],
    ['an attempt at SQL', () => `Bearer sk_test_'or'1'='1`],
  ])('%s', async (_, authorization) => {
    await expectRefusal({ authorization: authorization(tenant.testKey) }, 'invalid_api_key');
  });

  test('a wrong X-API-Key', async () => {
    await expectRefusal({ 'x-api-key': mistyped(tenant.testKey) }, 'invalid_api_key');
  });

  test('a key after its expiration date, from that moment on', async () => {
    // On a busy machine one may expire before it is used: then another one is issued.
    const { id, key } = await until('a key is used before it expires', async () => {
      const issued = await issue({ expires: new Date(Date.now() + 4_000).toISOString() });
      return (await request(bearer(issued.key))).status === 200 && issued;
    });
    await until('the key has expired', async () => (await request(bearer(key))).status === 401);
    await expectRefusal(bearer(key), 'expired_api_key');
    const keys = await listKeys(product.database, tenant.organizationId);
    expect(keys.find((one) => one.id === id)).toMatchObject({ status: 'expired' });
  });

  test('a revoked key, on the very next request', async () => {
    const { id, key } = await issue();
    expect(await request(bearer(key))).toMatchObject({ status: 200 });
    await revoke(product.database, id);
    await expectRefusal(bearer(key), 'invalid_api_key');
  });

  test('every route of v1 alike, before anything else is looked at', async () => {
    const client = apiClient(product.process.api);
    const routes: [string, string][] = [
      ['GET', '/workflows'],
      ['POST', '/workflows'],
      ['GET', '/workflows/x'],
      ['PATCH', '/workflows/x'],
      ['DELETE', '/workflows/x'],
      ['POST', '/workflows/x/execute'],
      ['GET', '/workflows/x/runs'],
      ['GET', '/runs/x'],
      ['GET', '/health'],
    ];
    for (const prefix of ['/api/v1', '/v1']) {
      for (const [method, route] of routes) {
        const body = ['POST', 'PATCH'].includes(method) ? '{broken' : undefined;
        const answer = await client.request(method, `${prefix}${route}?limit=0`, body, { 'x-api-variant': 'A' });
        expect(answer).toMatchObject({ status: 401, body: { error: { details: { reason: 'missing_api_key' } } } });
      }
    }
  });
});

describe('what belongs to another', () => {
  test.each(['tenant', 'environment'])('%s is the same 404 as what does not exist', async (other) => {
    const { id, wf } = await makeWorkflow(product.api);
    const executed = await product.api.post(`${path}/${id}/execute`, { input: 'x' });
    const { runId } = executed.body.data;
    const stranger = other === 'tenant' ? (await product.createTenant()).testKey : tenant.liveKey;
    const client = apiClient(product.process.api, stranger);
    const attempts: [string, string, object?][] = [
      ['GET', '/workflows/{wf}'],
      ['PATCH', '/workflows/{wf}', { name: 'stolen' }],
      ['DELETE', '/workflows/{wf}'],
      ['POST', '/workflows/{wf}/execute', { input: 'x' }],
      ['GET', '/workflows/{wf}/runs'],
      ['GET', '/runs/{run}'],
    ];
    const random = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000';
    for (const [method, template, body] of attempts) {
      const answers = [];
      for (const [workflow, run] of [
        [id, runId],
        [random, random],
      ]) {
        const at = template.replace('{wf}', workflow!).replace('{run}', run!);
        const answer = await client.request(method, `/v1${at}`, body);
        const { requestId, ...error } = answer.body.error;
        answers.push(JSON.stringify([answer.status, error]).replaceAll(workflow!, '*').replaceAll(run!, '*'));
      }
      expect(answers[0]).toMatch(/^\[404,/);
      expect(answers[0]).toBe(answers[1]);
    }
    expect(await client.get(`/v1/workflows/${wf}`)).toMatchObject({ status: 404 });
    const list = await client.get('/v1/workflows');
    expect(list.body.data.workflows).not.toContainEqual(expect.objectContaining({ id }));
    expect(await product.api.get(`/v1/workflows/${id}`)).toMatchObject({
      body: { data: { name: 'Made', totalRuns: 1 } },
    });
  });
});

test('no key, whole or in part, ever reaches the log', async () => {
  const { key } = await issue();
  await request(bearer(key));
  await request({ 'x-api-key': mistyped(key) });
  await request({}, `${path}?api_key=${key}`);
  expect(JSON.stringify(product.process.log)).not.toContain(key.slice(8, 30));
});
