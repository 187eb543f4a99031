import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openSecrets, putSecret } from '../../src/automation/secrets/secrets.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { Sealer } from '../../src/platform/security/crypto.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { apiClient } from '../api-client.ts';
import { runCli } from '../cli/run-cli.ts';
import { secrets } from '../operator.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { createTestDatabase, openTestDatabase } from '../test-database.ts';

let product: StartedProduct;
let api: StartedProduct['api'];

beforeAll(async () => {
  product = await sharedProduct();
  api = product.api;
});
afterAll(() => product.close());

const put = (name: string, body: object, client = api) => client.request('PUT', `/api/v1/secrets/${name}`, body);
const scopeOf = (organizationId: string, database = product.database) =>
  new Scope(database, { organizationId: organizationIds.parse(organizationId)!, environment: 'test' }, 'secrets');
const services = { sealer: new Sealer(secrets.SEALING_KEYS) };

test('a secret is put, replaced, listed without its value, and deleted', async () => {
  const first = await put('CRM_TOKEN', { value: 'one-hidden-value' });
  expect(first).toMatchObject({ status: 200, body: { data: { name: 'CRM_TOKEN', lastUsedAt: null } } });
  const second = await put('CRM_TOKEN', { value: 'another-hidden-value' });
  expect(second.body.data.createdAt).toBe(first.body.data.createdAt);
  expect(second.body.data.updatedAt > first.body.data.updatedAt).toBe(true);
  await put('BILLING', { value: 'x' });

  const listed = await api.get('/api/v1/secrets?limit=1');
  expect(listed.body.data).toMatchObject({
    secrets: [{ name: 'BILLING' }],
    pagination: { total: 2, limit: 1, offset: 0, hasMore: true },
  });
  const inB = await api.get('/api/v1/secrets?offset=1', { 'x-api-variant': 'B' });
  expect(inB.body.data).toMatchObject({ secrets: [{ name: 'CRM_TOKEN' }], total: 2, limit: 20, offset: 1 });
  expect(JSON.stringify([first.body, second.body, listed.body, inB.body])).not.toContain('hidden-value');

  const scope = scopeOf(product.tenant.organizationId);
  const opened = await openSecrets(services, scope, ['CRM_TOKEN', 'NONE']);
  expect([...opened]).toEqual([['CRM_TOKEN', 'another-hidden-value']]);
  expect((await api.get('/api/v1/secrets')).body.data.secrets).toMatchObject([
    { name: 'BILLING', lastUsedAt: null },
    { name: 'CRM_TOKEN', lastUsedAt: expect.any(String) },
  ]);

  expect(await api.delete('/api/v1/secrets/CRM_TOKEN')).toMatchObject({
    status: 200,
    body: { data: { deleted: true } },
  });
  expect(await api.delete('/api/v1/secrets/CRM_TOKEN')).toMatchObject({
    status: 404,
    body: { error: { code: 'not_found' } },
  });
  expect(await openSecrets(services, scope, ['CRM_TOKEN'])).toEqual(new Map());
});

test('names and values are checked, and refusals repeat no value', async () => {
  const wrong: [string, object][] = [
    ['lower', { value: 'hidden-value' }],
    ['1A', { value: 'hidden-value' }],
    [`A${'B'.repeat(64)}`, { value: 'hidden-value' }],
    ['A', { value: '' }],
    ['A', { value: 'hidden-value'.repeat(1_000) }],
    ['A', { value: ['hidden-value'] }],
    ['A', {}],
  ];
  for (const [name, body] of wrong) {
    const refused = await put(name, body);
    expect({ name, status: refused.status, code: refused.body.error.code }).toEqual({
      name,
      status: 400,
      code: 'validation_error',
    });
    expect(JSON.stringify(refused.body)).not.toContain('hidden-value');
  }
  expect((await put(`A${'B'.repeat(63)}`, { value: 'é'.repeat(8_192) })).status).toBe(200);
});

test('each environment has secrets of its own, and at most a hundred', async () => {
  const { organizationId, testKey, liveKey } = await product.createTenant();
  const [test, live] = [apiClient(product.process.api, testKey), apiClient(product.process.api, liveKey)];
  expect((await put('SHARED', { value: 'of test' }, test)).status).toBe(200);
  expect((await live.get('/api/v1/secrets')).body.data.secrets).toEqual([]);
  expect((await live.delete('/api/v1/secrets/SHARED')).status).toBe(404);
  for (let index = 1; index < 100; index += 1) expect((await put(`S_${index}`, { value: 'x' }, test)).status).toBe(200);
  expect(await put('ONE_MORE', { value: 'x' }, test)).toMatchObject({
    status: 403,
    body: { error: { code: 'forbidden', details: { limit: 100 } } },
  });
  expect((await put('SHARED', { value: 'replaced' }, test)).status).toBe(200);
  expect((await openSecrets(services, scopeOf(organizationId), ['SHARED'])).get('SHARED')).toBe('replaced');
});

test('values are sealed, and their use is audited without them', async () => {
  await put('SEALED', { value: 'hidden-value' });
  const own = [organizationIds.parse(product.tenant.organizationId)];
  const stored = await product.database.pool.query(
    `select sealed_value as value from secret where name = 'SEALED' and organization_id = $1`,
    own,
  );
  expect(stored.rows).toEqual([{ value: expect.stringMatching(/^v1:/) }]);
  const audit = await product.database.pool.query(
    `select action, facts from audit_log where action like 'secret.%' and organization_id = $1 order by number`,
    own,
  );
  expect(audit.rows).toContainEqual({ action: 'secret.put', facts: { name: 'SEALED' } });
  expect(audit.rows).toContainEqual({ action: 'secret.delete', facts: { name: 'CRM_TOKEN' } });
  expect(JSON.stringify(audit.rows)).not.toContain('hidden-value');
});

test('operators reseal the values', async () => {
  // The command reseals every row of a database: the shared product could open none of its rows any more.
  const { url, drop } = await createTestDatabase();
  const database = await openTestDatabase(url);
  try {
    const { id } = await createOrganization(database, { name: 'Resealed', plan: 'team' });
    const scope = scopeOf(id, database);
    for (const name of ['ONE', 'TWO']) await putSecret(services, scope, name, `hidden-value-${name}`);
    const ring = `next:${Buffer.alloc(32, 7).toString('base64')},${secrets.SEALING_KEYS}`;
    const variables = { DATABASE_URL: url, SEALING_KEYS: ring };
    expect((await runCli(['secrets', 'reseal', '--json'], variables)).exitCode).toBe(0);
    const stored = await database.pool.query('select sealed_value as value from secret');
    expect(stored.rows).toEqual(Array(2).fill({ value: expect.stringMatching(/^v1:next:/) }));
    const opened = await openSecrets({ sealer: new Sealer(ring.split(',')[0]) }, scope, ['ONE', 'TWO']);
    expect(Object.fromEntries(opened)).toEqual({ ONE: 'hidden-value-ONE', TWO: 'hidden-value-TWO' });
  } finally {
    await database.close();
    await drop();
  }
});

test('no template and no expression reads a secret', async () => {
  await put('UNREAD', { value: 'hidden-value' });
  const steps = [
    { id: 'say', type: 'prompt', prompt: '{{secrets.UNREAD}} {{UNREAD}} {{secret.UNREAD}}' },
    {
      id: 'call',
      type: 'http',
      url: 'https://example.com/',
      headers: { 'X-Key': '<{{secrets.UNREAD}}>' },
      body: '{{UNREAD}}',
    },
  ];
  const { id } = (await api.post('/api/v1/workflows', { name: 'Curious', steps })).body.data;
  const { runId } = (await api.post(`/api/v1/workflows/${id}/execute`, { input: 'x' })).body.data;
  const run = (await api.get(`/api/v1/runs/${runId}`, { 'x-api-variant': 'B' })).body.data;
  expect(run.status).toBe('completed');
  expect(run.output.steps.call.body.headers['x-key']).toBe('<>');
  expect(JSON.stringify(run)).not.toContain('hidden-value');
  for (const expression of ['secrets.UNREAD', 'UNREAD']) {
    const reading = { name: 'Reads', steps: [{ id: 'read', type: 'transform', expression }] };
    expect((await api.post('/api/v1/workflows', reading)).status).toBe(400);
  }
});

test('a save warns of secrets that do not exist', async () => {
  await put('KNOWN', { value: 'x' });
  const secretHeaders = { Authorization: 'KNOWN', 'X-Key': 'UNKNOWN' };
  const steps = [{ id: 'call', type: 'http', url: 'https://example.com/', secretHeaders }];
  const saved = await api.post('/api/v1/workflows', { name: 'Sends', steps });
  expect(saved.body.data.warnings).toMatchObject([
    { path: expect.stringMatching(/^steps\.0\.secretHeaders\.X-Key$/), code: 'missing_secret' },
  ]);
});
