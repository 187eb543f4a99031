import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { latestAudit } from '../../src/platform/security/audit.ts';
import { eventTypes } from '../../src/services.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { webhookIds } from '../../src/webhooks/core/ids.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { inB, makeWorkflow } from '../automation/make-workflow.ts';
import { type Product, sharedProduct } from '../product.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
afterAll(() => product.close());

const url = 'https://hooks.example.com/runs';
const given = { name: 'Orders', url, events: ['workflow.run.failed'] };
const secretPattern = /^whsec_[A-Za-z0-9+/]{43}=$/;
const pathOf = (id: string) => `/api/v1/webhooks/${id}`;
let made = 0;
const make = async (body: object = { ...given, url: `${url}?${made++}` }, client = api) =>
  (await client.post('/api/v1/webhooks', body)).body.data;
/** A tenant who has no webhooks yet. */
const newcomer = async ({ createTenant, process }: Product & { process: { api: string } }, plan = 'enterprise') =>
  apiClient(process.api, (await createTenant({ plan })).testKey);

describe('reading and writing', () => {
  test.each([
    ['A', { 'x-api-variant': 'A' }, '/api/v1', 'not_found', 50],
    ['B', inB, '/v1', 'RESOURCE_NOT_FOUND', 20],
  ])('in dialect %s', async (_, headers, mount, code, limit) => {
    const client = await newcomer(product);
    const path = `${mount}/webhooks`;
    const created = await client.post(path, given, headers);
    expect(created.status).toBe(201);
    const { secret, ...shown } = created.body.data;
    expect(secret).toMatch(secretPattern);
    expect(shown).toEqual({
      id: expect.stringMatching(/^whk_[0-9a-f]{32}$/),
      ...given,
      isActive: true,
      maxAttempts: 19,
      headers: {},
      rateLimit: null,
      concurrency: 8,
      filter: null,
      filterErrors: 0,
      payload: 'full',
      signature: 'hmac',
      publicKey: null,
      ordering: 'none',
      disabledReason: null,
      createdAt: expect.any(String),
      updatedAt: shown.createdAt,
    });
    const own = `${path}/${shown.id}`;
    const health = { state: 'healthy', failingSince: null, nextProbeAt: null, waiting: 0, deadLettered: 0, skipped: 0 };
    const detail = { health: { ...health, successRate24h: null } };
    expect((await client.get(own, headers)).body.data).toEqual({ ...shown, ...detail });

    const second = await client.post(path, { ...given, name: 'Second', headers: { 'X-Team': 'a' } }, headers);
    const list = async (query = '') => (await client.get(`${path}${query}`, headers)).body.data;
    expect(await list()).toEqual({
      webhooks: [expect.objectContaining({ id: second.body.data.id, headers: { 'X-Team': 'a' } }), shown],
      pagination: { total: 2, limit, offset: 0, hasMore: false },
    });
    expect(await list('?limit=1')).toMatchObject({
      webhooks: [{ id: second.body.data.id }],
      pagination: { total: 2, limit: 1, offset: 0, hasMore: true },
    });
    expect((await list('?offset=1')).webhooks).toEqual([shown]);

    const change = { name: 'Renamed', events: ['*'], headers: { Authorization: 'x' }, rateLimit: 60, concurrency: 1 };
    const changed = await client.patch(own, change, headers);
    expect(changed).toMatchObject({
      status: 200,
      body: { data: { ...shown, ...change, updatedAt: expect.any(String) } },
    });
    expect(changed.body.data.updatedAt > shown.updatedAt).toBe(true);
    expect((await client.patch(own, {}, headers)).body).toEqual(changed.body);
    expect((await client.get(own, headers)).body.data).toEqual({ ...changed.body.data, ...detail });
    const cleared = await client.patch(own, { headers: {}, rateLimit: null }, headers);
    expect(cleared.body.data).toMatchObject({ headers: {}, rateLimit: null, name: 'Renamed', concurrency: 1 });

    expect(await client.delete(own, headers)).toMatchObject({ status: 200, body: { data: { deleted: true } } });
    const none = { status: 404, body: { error: { code, details: { webhookId: shown.id } } } };
    expect(await client.get(own, headers)).toMatchObject(none);
    expect(await client.patch(own, { name: 'x' }, headers)).toMatchObject(none);
    expect(await client.delete(own, headers)).toMatchObject(none);
    expect(await client.post(`${own}/rotate-secret`, undefined, headers)).toMatchObject(none);
    expect((await list()).pagination.total).toBe(1);
  });

  test('reads an id as a uuid too', async () => {
    const { id } = await make();
    const uuid = id.slice(4).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
    for (const form of [uuid, uuid.toUpperCase()]) expect((await api.get(pathOf(form))).body.data.id).toBe(id);
  });

  test('leaves the trigger of workflows where it is, and says which methods there are', async () => {
    const { id, wf } = await makeWorkflow(api);
    for (const one of [id, wf]) expect((await api.post(pathOf(one), { input: 'x' })).status).toBe(200);
    const webhook = await make();
    expect(await api.post(pathOf(webhook.id), {})).toMatchObject({
      status: 404,
      body: { error: { code: 'workflow_not_found' } },
    });
    const allowed = async (path: string) =>
      (await api.request('PUT', path, {})).headers.get('allow')?.split(', ').sort();
    expect(await allowed(pathOf(webhook.id))).toEqual(['DELETE', 'GET', 'HEAD', 'PATCH', 'POST']);
    expect(await allowed('/v1/webhooks')).toEqual(['GET', 'HEAD', 'POST']);
    expect(await allowed(`${pathOf(webhook.id)}/test`)).toEqual(['POST']);
  });
});

describe('what is refused', () => {
  const many = (count: number, value = 'x') =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`X-${index}`, value]));
  const cases: [path: string, fields: object][] = [
    ['name', { name: '' }],
    ['name', { name: 'x'.repeat(101) }],
    ['name', { name: null }],
    ['url', { url: 'hooks.example.com' }],
    ['url', { url: 'ftp://hooks.example.com' }],
    ['url', { url: ' https://hooks.example.com' }],
    ['url', { url: 'https://hooks.example.com/a b' }],
    ['url', { url: 'https://127.0.0.1/' }],
    ['url', { url: 'http://169.254.169.254/latest' }],
    ['url', { url: 'https://[::1]/' }],
    ['url', { url: 'https://user:word@hooks.example.com' }],
    ['url', { url: `https://hooks.example.com/${'x'.repeat(2_048)}` }],
    ['events', { events: [] }],
    ['events', { events: 'workflow.run.failed' }],
    ['events.0', { events: ['workflow.run.*'] }],
    ['events.1', { events: ['*', 'booking'] }],
    ['events.1', { events: ['test.webhook', 'test.webhook'] }],
    ['events', { events: Array.from({ length: 51 }, () => '*') }],
    ['maxAttempts', { maxAttempts: 0 }],
    ['maxAttempts', { maxAttempts: 26 }],
    ['maxAttempts', { maxAttempts: '5' }],
    ['rateLimit', { rateLimit: 0 }],
    ['rateLimit', { rateLimit: 60_001 }],
    ['concurrency', { concurrency: 65 }],
    ['concurrency', { concurrency: 1.5 }],
    ['isActive', { isActive: 'true' }],
    ['headers', { headers: [] }],
    ['headers', { headers: many(21) }],
    ['headers', { headers: many(20, 'x'.repeat(500)) }],
    ['headers.X-Number', { headers: { 'X-Number': 1 } }],
    ['headers.X Y', { headers: { 'X Y': 'x' } }],
    ['headers.X-Break', { headers: { 'X-Break': 'a\r\nX-Other: b' } }],
    ['headers.X-Long', { headers: { 'X-Long': 'x'.repeat(1_001) } }],
    ['headers.x-twice', { headers: { 'X-Twice': 'a', 'x-twice': 'b' } }],
    ['headers.Host', { headers: { Host: 'x' } }],
    ['headers.Content-Type', { headers: { 'Content-Type': 'text/plain' } }],
    ['headers.user-agent', { headers: { 'user-agent': 'x' } }],
    ['headers.X-Service-Signature', { headers: { 'X-Service-Signature': 'x' } }],
    ['headers.webhook-id', { headers: { 'webhook-id': 'x' } }],
  ];

  test.each(cases)('%s: %j', async (path, fields) => {
    const { id } = await make();
    const before = await api.get(pathOf(id));
    const refused = { status: 400, body: { error: { code: 'validation_error', details: { errors: [{ path }] } } } };
    expect(await api.post('/api/v1/webhooks', { ...given, ...fields })).toMatchObject(refused);
    expect(await api.patch(pathOf(id), fields)).toMatchObject(refused);
    expect((await api.get(pathOf(id))).body).toEqual(before.body);
    await api.delete(pathOf(id));
  });

  test('what is missing, each by its name; and the types of events are named', async () => {
    const { body } = await api.post('/api/v1/webhooks', {});
    const required = ['name', 'url', 'events'].map((path) => ({ path, message: 'Required.' }));
    expect(body.error.details.errors).toEqual(required);
    const unknown = await api.post('/api/v1/webhooks', { ...given, events: ['nonsense'] });
    for (const type of eventTypes) expect(unknown.body.error.details.errors[0].message).toContain(type);
  });

  test('another word for the brand is reserved instead, where there is one', async () => {
    const branded = await product.serve({ WEBHOOK_HEADER_BRAND: 'Acme' });
    const client = apiClient(branded.api, product.tenant.testKey);
    const post = (name: string) => client.post('/v1/webhooks', { ...given, headers: { [name]: 'x' } });
    expect((await post('X-Acme-Event')).status).toBe(400);
    expect((await post('X-Service-Event')).status).toBe(201);
    await branded.stop();
  });

  test('more than the plan includes, also of requests at once', async () => {
    const client = await newcomer(product, 'pro');
    const statuses: number[] = [];
    for (let batch = 0; batch < 21; batch++) {
      const posts = Array.from({ length: 5 }, (_, n) =>
        client.post('/v1/webhooks', { ...given, url: `${url}/${batch}/${n}` }),
      );
      statuses.push(...(await Promise.all(posts)).map(({ status }) => status));
    }
    expect(statuses.filter((status) => status === 201)).toHaveLength(100);
    expect(statuses.filter((status) => status === 403)).toHaveLength(5);
    const { webhooks } = (await client.get('/v1/webhooks?limit=100')).body.data;
    await client.delete(pathOf(webhooks[0].id));
    expect((await client.post('/v1/webhooks', given)).status).toBe(201);
  });

  test('a sixth active webhook that sends the same event to the same URL, also of requests at once', async () => {
    const client = await newcomer(product);
    const refused = {
      status: 400,
      body: { error: { code: 'validation_error', details: { errors: [{ path: 'url' }] } } },
    };
    const spellings = ['', '#there', ':443'].map((rest) =>
      rest === ':443' ? url.replace('.com', '.COM.:443') : url + rest,
    );
    const post = (n: number, fields: object = {}) =>
      client.post('/v1/webhooks', { ...given, url: spellings[n % spellings.length], ...fields });
    const answers = await Promise.all(Array.from({ length: 9 }, (_, n) => post(n, n % 2 ? { events: ['*'] } : {})));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
    for (const answer of answers.filter(({ status }) => status !== 201)) expect(answer).toMatchObject(refused);

    const off = (await post(0, { isActive: false })).body.data;
    expect(await client.patch(pathOf(off.id), { isActive: true })).toMatchObject(refused);
    const elsewhere = (await post(0, { url: `${url}?else` })).body.data;
    expect(await client.patch(pathOf(elsewhere.id), { url })).toMatchObject(refused);
    const other = (await post(0, { events: ['api_key.expiring'] })).body.data;
    expect(await client.patch(pathOf(other.id), { events: given.events })).toMatchObject(refused);
    const [first] = answers.filter(({ status }) => status === 201);
    expect((await client.patch(pathOf(first!.body.data.id), { name: 'Renamed', isActive: true })).status).toBe(200);
    await client.delete(pathOf(first!.body.data.id));
    expect((await client.patch(pathOf(elsewhere.id), { url })).status).toBe(200);
  });

  test('everything, in words, where secrets cannot be kept', async () => {
    const bare = await product.serve({ SEALING_KEYS: '' });
    const client = apiClient(bare.api, product.tenant.testKey);
    const { status, headers, body } = await client.post('/v1/webhooks', given);
    expect({ status, code: body.error.code }).toEqual({ status: 503, code: 'service_unavailable' });
    expect(headers.get('retry-after')).toBe('1');
    expect(JSON.stringify(body)).not.toContain('SEALING');
    await bare.stop();
  });
});

describe('whose it is', () => {
  test('another organization and the other environment know nothing of it', async () => {
    const { tenant, process, createTenant } = product;
    const { id } = await make();
    const stranger = await createTenant();
    for (const key of [stranger.testKey, tenant.liveKey]) {
      const client = apiClient(process.api, key);
      const unknown = { status: 404, body: { error: { code: 'not_found', details: { webhookId: id } } } };
      expect((await client.get('/v1/webhooks')).body.data.pagination.total).toBe(0);
      expect(await client.get(pathOf(id))).toMatchObject(unknown);
      expect(await client.patch(pathOf(id), { name: 'Stolen' })).toMatchObject(unknown);
      expect(await client.delete(pathOf(id))).toMatchObject(unknown);
      expect(await client.post(`${pathOf(id)}/rotate-secret`)).toMatchObject(unknown);
    }
    expect((await api.get(pathOf(id))).body.data.name).toBe('Orders');
  });

  test('and a key needs the scope', async () => {
    const { tenant, database, process } = product;
    const { id } = await make();
    const { organizationId } = tenant;
    const { key } = await createKey(database, { organizationId, environment: 'test', scopes: ['workflows:write'] });
    const client = apiClient(process.api, key);
    const refused = { status: 403, body: { error: { code: 'forbidden', details: { required: 'webhooks' } } } };
    expect(await client.get('/v1/webhooks')).toMatchObject(refused);
    expect(await client.post('/v1/webhooks', given)).toMatchObject(refused);
    expect(await client.delete(pathOf(id))).toMatchObject(refused);
  });
});

test('what is done to it is written down, without its owner’s words', async () => {
  const { database, tenant } = product;
  const { id } = await make();
  await api.patch(pathOf(id), { name: 'Renamed', isActive: false });
  await api.patch(pathOf(id), {});
  await api.post(`${pathOf(id)}/rotate-secret`);
  await api.delete(pathOf(id));
  await api.delete(pathOf(id));
  const organizationId = organizationIds.parse(tenant.organizationId)!;
  const entries = (await latestAudit(database, organizationId, 4)).toReversed();
  expect(entries).toMatchObject([
    { action: 'webhook.create', facts: { events: given.events, isActive: true } },
    { action: 'webhook.update', facts: { given: ['name', 'isActive'], isActive: false } },
    { action: 'webhook.rotate_secret', facts: {} },
    { action: 'webhook.delete', facts: {} },
  ]);
  for (const { subjectId, environment, actor } of entries) {
    expect({ subjectId, environment }).toEqual({ subjectId: webhookIds.parse(id), environment: 'test' });
    expect(actor).toMatch(/^key_/);
  }
  expect(JSON.stringify(entries)).not.toMatch(/Orders|Renamed|hooks\.example|whsec_/);
});
