import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import pg from 'pg';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { asOperator, secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { until } from '../until.ts';

let product: Product;
let process: ProductProcess;
let organization: string;
let key: string;
let keyId: string;
beforeAll(async () => {
  product = await openProduct({ env: { ...secrets, LOG_LEVEL: 'trace' } });
  process = await product.start(['api', 'runs']);
  const email = 'canary-contact@example.com';
  organization = (await createOrganization(product.database, { name: 'Logs', plan: 'team', email })).id;
  const issued = await createKey(product.database, { organizationId: organization, environment: 'test' });
  ({ key, id: keyId } = issued);
});
afterAll(() => product.close());

const requestLine = (requestId: string | null) =>
  until('the request has its line', async () =>
    process.log.find((line) => line.requestId === requestId && line.msg === 'request'),
  );
const uuid = (id: string) => id.replace(/^[a-z]+_(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');

test('every request has one line, with its route and never its path', async () => {
  const api = apiClient(process.api, key);
  const correlationId = randomUUID();
  const { id } = await makeWorkflow(api);
  const answer = await api.get(`/api/v1/workflows/${id}?canary=in-the-query`, { 'x-correlation-id': correlationId });
  const line = await requestLine(answer.headers.get('x-request-id'));
  expect(line).toMatchObject({
    level: 30,
    process: 'api+runs+housekeeping',
    method: 'GET',
    route: '/api/v1/workflows/{id}',
    status: 200,
    ms: expect.any(Number),
    correlationId,
    organizationId: uuid(organization),
    environment: 'test',
    keyId: uuid(keyId),
  });
  for (const [method, path, route, status] of [
    ['GET', '/nowhere/canary-path', 'unmatched', 404],
    ['PUT', `/api/v1/workflows/${id}`, 'unmatched', 405],
    ['GET', `/v1/workflows/${randomUUID()}`, '/v1/workflows/{id}', 404],
  ] as const) {
    const { headers } = await api.request(method, path);
    expect(await requestLine(headers.get('x-request-id'))).toMatchObject({ method, route, status });
  }
  const refused = await apiClient(process.api, 'sk_test_canarycanary').get('/api/v1/workflows');
  const refusedLine = await requestLine(refused.headers.get('x-request-id'));
  expect(refusedLine).toMatchObject({ route: '/api/v1/workflows', status: 401 });
  expect(refusedLine).not.toHaveProperty('organizationId');
  const lines = process.log.filter(({ msg }) => msg === 'request');
  expect(new Set(lines.map(({ requestId }) => requestId)).size).toBe(lines.length);
});

test('nothing that is secret or anybody’s is in any line, whatever happens', async () => {
  const api = apiClient(process.api, key);
  const prompt = 'canary-prompt-of-a-customer';
  const issued = await createKey(product.database, { organizationId: organization, environment: 'live' });

  const { id } = await makeWorkflow(api, { name: 'canary-name', steps: [{ id: 'a', type: 'prompt', prompt }] });
  await api.post(`/api/v1/workflows/${id}/execute`, { input: 'canary-input', variables: { a: 'canary-variable' } });
  const failing = await makeWorkflow(api, `sandbox:fail ${prompt}`);
  expect((await api.post(`/api/v1/workflows/${failing.id}/execute`, { input: 'canary-input' })).status).toBe(500);
  await api.get(`/api/v1/workflows?api_key=${key}&token=canary-query`);
  await api.get('/api/v1/workflows', { 'x-api-key': issued.key });
  await api.get('/api/v1/workflows', { authorization: `Basic ${issued.key}` });
  await apiClient(process.api, `${issued.key}x`).get('/api/v1/workflows');
  await api.post('/api/v1/workflows', '{"name": "canary-broken');
  await api.post('/api/v1/workflows', { name: 'x'.repeat(101), description: 'canary-description', steps: 5 });
  await api.get('/api/admin/health', { authorization: 'Bearer canary-wrong-cron-secret' });
  await api.get('/api/admin/health', asOperator);
  await api.post('/api/performance/vitals', { name: 'LCP', value: 1, path: '/canary-page', id: 'canary@example.com' });
  await api.get(`/${key}`, { cookie: 'session=canary-cookie', 'x-correlation-id': 'canary with spaces' });

  // An error of the database carries the statement and what it was given.
  const owner = new pg.Client({ connectionString: product.ownerUrl });
  await owner.connect();
  await owner.query('alter table automation rename column name to renamed');
  const broken = await api.post('/api/v1/workflows', { name: 'canary-statement', description: 'x@canary.example' });
  expect(broken.status).toBe(500);
  await owner.query('alter table automation rename column renamed to name');
  await owner.end();
  const failure = await until('the failure has its line', async () =>
    process.log.find(({ requestId, err }) => err && requestId === broken.headers.get('x-request-id')),
  );
  expect(failure.err).toMatchObject({ code: '42703', stack: expect.any(String) });

  expect(await process.stop()).toBe(0);
  const text = process.log.map((line) => JSON.stringify(line)).join('\n') + process.errors.join('\n');
  expect(process.log.filter(({ level, time }) => typeof level !== 'number' || typeof time !== 'string')).toEqual([]);
  const canaries = [...Object.values(secrets).flatMap((value) => value.split(',')), key, issued.key, prompt];
  for (const canary of canaries) expect(text).not.toContain(canary);
  // The two values that a caller may choose for our logs are the correlation id, and nothing else.
  expect(text.match(/.{0,200}canary.{0,60}/g)).toBeNull();
  expect(text).not.toMatch(/sk_(live|test)_[0-9A-Za-z]/);
  expect(text).not.toMatch(/[a-z]@[a-z]+\.example|@example\.com/);
});
