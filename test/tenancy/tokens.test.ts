import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { changeRole, findMemberByEmail, removeMember } from '../../src/accounts/members.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { type Person, personWith } from '../accounts/people.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { endOf, makeWorkflow } from '../automation/make-workflow.ts';
import { advance } from '../clock.ts';
import { followEvents } from '../event-stream.ts';
import { openProduct, type StartedProduct, sharedProduct, type Tenant } from '../product.ts';
import { revoke } from './revoke.ts';

let product: StartedProduct;
let api: ApiClient;
let base: string;
let tenant: Tenant;
let workflowId: string;
let otherWorkflowId: string;

const site = 'https://app.example.com';
const elsewhere = 'https://evil.example';

beforeAll(async () => {
  product = await sharedProduct();
  ({ api, tenant } = product);
  base = product.process.api;
  [{ id: workflowId }, { id: otherWorkflowId }] = await Promise.all([makeWorkflow(api), makeWorkflow(api)]);
});
afterAll(() => product.close());

async function issue(body: object, by = api): Promise<string> {
  const answer = await by.post('/api/v1/tokens', body);
  expect(answer.status).toBe(201);
  return answer.body.data.token;
}

/** A client with a new token. */
const withToken = async (body: object): Promise<ApiClient> => apiClient(base, await issue(body));

async function execute(by: ApiClient, id = workflowId, body: object = {}): Promise<string> {
  const answer = await by.post(`/api/v1/workflows/${id}/execute`, { input: 'x', async: true, ...body });
  expect(answer.status).toBe(200);
  return answer.body.data.runId;
}

const issueKey = (options: { scopes?: string[]; expires?: string }) =>
  createKey(product.database, { organizationId: tenant.organizationId, environment: 'test', ...options });

const expired = { status: 401, body: { error: { code: 'unauthorized', details: { reason: 'expired_api_key' } } } };
const unknown = { status: 401, body: { error: { code: 'unauthorized', details: { reason: 'invalid_api_key' } } } };
const forbidden = { status: 403, body: { error: { code: 'forbidden' } } };

/** A second, on a machine that does nothing else; and far less than the runs take that are followed. */
const soonMs = 30_000;

/** The organization as its rows name it. */
const organization = () => organizationIds.parse(tenant.organizationId)!;

/** Makes a token look as if it had ended so long ago. */
const endToken = (ago: string) =>
  product.database.pool.query(
    `update browser_token set expires_at = now() - $2::interval where id =
       (select id from browser_token where organization_id = $1 order by id desc limit 1)`,
    [organization(), ago],
  );

test('with an Idempotency-Key one token is made, and no other key gets it', async () => {
  const ask = (by: ApiClient, expiresInSeconds = 60) =>
    by.post('/api/v1/tokens', { scopes: ['runs:read'], expiresInSeconds }, { 'idempotency-key': 'one-token' });
  const [first, second] = [await ask(api), await ask(api)];
  expect(first.status).toBe(201);
  expect([second.status, second.body.data]).toEqual([201, first.body.data]);
  expect(second.headers.get('idempotent-replayed')).toBe('true');
  expect((await ask(api, 61)).body.error.code).toBe('idempotency_key_reused');
  const { key } = await issueKey({});
  expect(await ask(apiClient(base, key))).toMatchObject({ status: 409, body: { error: { code: 'conflict' } } });
});

describe('a token', () => {
  test('lives for a quarter of an hour by default, and at most as long as its key', async () => {
    const before = Date.now();
    const { body } = await api.post('/api/v1/tokens', { scopes: ['runs:read'] });
    expect(body.data.token).toMatch(/^pub_test_[0-9A-Za-z]{42}$/);
    expect((Date.parse(body.data.expiresAt) - before) / 1000).toBeGreaterThan(890);
    expect((Date.parse(body.data.expiresAt) - Date.now()) / 1000).toBeLessThanOrEqual(900);
    const live = await apiClient(base, tenant.liveKey).post('/api/v1/tokens', { scopes: ['chat'] });
    expect(live.body.data.token).toMatch(/^pub_live_/);

    const expires = new Date(Date.now() + 300_000).toISOString();
    const { key } = await issueKey({ expires });
    const shorter = await apiClient(base, key).post('/api/v1/tokens', {
      scopes: ['runs:read'],
      expiresInSeconds: 86_400,
    });
    expect(shorter.body.data.expiresAt).toBe(expires);
    const { rows } = await product.database.pool.query('select hash from browser_token where organization_id = $1', [
      organization(),
    ]);
    expect(rows.every(({ hash }) => hash.length === 32)).toBe(true);
  });

  test('may do no more than its key, and nothing that tokens cannot do', async () => {
    const { key } = await issueKey({ scopes: ['runs:read'] });
    const narrow = apiClient(base, key);
    expect(await narrow.post('/api/v1/tokens', { scopes: ['runs:read', 'chat'] })).toMatchObject({
      status: 403,
      body: { error: { code: 'forbidden', details: { required: 'chat' } } },
    });
    // The scope is refused before what is missing.
    expect(await narrow.post('/api/v1/tokens', { scopes: ['runs:execute'] })).toMatchObject(forbidden);
    const refused = async (body: object, path: string) =>
      expect(await api.post('/api/v1/tokens', body)).toMatchObject({
        status: 400,
        body: { error: { details: { errors: [{ path }] } } },
      });
    await refused({ scopes: ['runs:execute'] }, 'workflowIds');
    await refused({ scopes: ['webhooks'] }, 'scopes.0');
    await refused({ scopes: [] }, 'scopes');
    await refused({ scopes: ['runs:read'], expiresInSeconds: 59 }, 'expiresInSeconds');
    await refused({ scopes: ['runs:read'], expiresInSeconds: 86_401 }, 'expiresInSeconds');
    await refused({ scopes: ['runs:read'], origins: [`${site}/path`] }, 'origins.0');
    await refused({ scopes: ['runs:read'], origins: Array(11).fill(site) }, 'origins');
    await refused({ scopes: ['runs:read'], runIds: ['wf_1'] }, 'runIds.0');
    await refused({ scopes: ['runs:read'], maxUses: 0 }, 'maxUses');
  });

  test('reaches what browsers need, and nothing else', async () => {
    const runId = await execute(api);
    await endOf(api, runId);
    const token = await withToken({
      scopes: ['runs:read', 'runs:execute', 'chat', 'voice'],
      workflowIds: [workflowId],
    });
    for (const path of [
      '/api/v1/runs',
      `/api/v1/runs/${runId}`,
      `/v1/runs/${runId}`,
      `/api/v1/runs/${runId}/steps`,
      `/api/v1/runs/${runId}/outputs/say`,
    ]) {
      expect([path, (await token.get(path)).status]).toEqual([path, 200]);
    }
    expect((await token.post(`/api/v1/runs/${runId}/cancel`)).status).toBe(200);
    expect((await token.post('/api/chat', { messages: [{ role: 'user', content: 'Hi' }] })).status).toBe(200);
    expect((await token.post('/api/voice/tts', { text: 'Hi' })).status).toBe(200);
    const withTools = { messages: [{ role: 'user', content: 'Hi' }], mcpServers: ['memory'] };
    expect((await token.post('/api/chat', withTools)).status).toBe(403);
    expect(
      (await token.post('/api/agents/chat', { message: 'Hi', systemPrompt: 'x', mcpServers: ['memory'] })).status,
    ).toBe(403);

    for (const [method, path] of [
      ['POST', '/api/v1/tokens'],
      ['GET', '/api/v1/health'],
      ['GET', '/api/v1/workflows'],
      ['GET', `/api/v1/workflows/${workflowId}`],
      ['GET', `/api/v1/workflows/${workflowId}/runs`],
      ['POST', `/api/v1/workflows/${workflowId}/test`],
      ['POST', `/api/v1/workflows/${workflowId}/batch`],
      ['GET', `/api/v1/runs/${runId}/input`],
      ['POST', `/api/v1/runs/${runId}/retry`],
      ['PATCH', `/api/v1/runs/${runId}`],
      ['DELETE', `/api/v1/runs/${runId}`],
      ['GET', '/api/v1/approvals'],
      ['POST', '/api/v1/events'],
      ['GET', '/api/v1/webhooks'],
      ['GET', '/api/v1/credits'],
      ['GET', '/api/v1/scheduling/hosts'],
      ['GET', '/api/studio/history'],
    ] as const) {
      const { status } = await token.request(method, path, method === 'GET' || method === 'DELETE' ? undefined : {});
      expect([method, path, status]).toEqual([method, path, 403]);
    }
  });

  test('that names workflows starts and sees those alone', async () => {
    const [mine, other] = [await execute(api), await execute(api, otherWorkflowId)];
    const token = await withToken({ scopes: ['runs:read', 'runs:execute'], workflowIds: [workflowId] });
    const started = await execute(token);
    expect((await token.post(`/api/v1/workflows/${otherWorkflowId}/execute`, {})).body.error.code).toBe(
      'workflow_not_found',
    );
    for (const id of [mine, started]) expect((await token.get(`/api/v1/runs/${id}`)).status).toBe(200);
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/steps'],
      ['GET', '/outputs/say'],
      ['GET', '/events'],
      ['POST', '/cancel'],
    ] as const) {
      const { status, body } = await token.request(method, `/api/v1/runs/${other}${path}`);
      expect([path, status, body.error.code]).toEqual([path, 404, 'run_not_found']);
    }
    const listed = (await token.get('/api/v1/runs?limit=100')).body.data.runs.map(({ id }: { id: string }) => id);
    expect(listed).toEqual(expect.arrayContaining([mine, started]));
    expect(listed).not.toContain(other);
    expect((await token.get(`/api/v1/runs?workflowId=${otherWorkflowId}`)).body.data.runs).toEqual([]);

    const both = await withToken({ scopes: ['runs:read'], workflowIds: [workflowId, otherWorkflowId] });
    const ofBoth = (await both.get('/api/v1/runs?limit=100')).body.data.runs.map(({ id }: { id: string }) => id);
    expect(ofBoth).toEqual(expect.arrayContaining([mine, other]));
  });

  test('that names tags starts runs that have them, and one that names runs starts none', async () => {
    const tagged = await withToken({ scopes: ['runs:read', 'runs:execute'], tags: ['customer-7'] });
    const runId = await execute(tagged, workflowId, { tags: ['customer-7', 'more'] });
    for (const tags of [undefined, ['customer-8']]) {
      const { status } = await tagged.post(`/api/v1/workflows/${workflowId}/execute`, { ...(tags && { tags }) });
      expect(status).toBe(404);
    }
    expect((await tagged.get('/api/v1/runs')).body.data.runs).toMatchObject([{ id: runId }]);
    const others = await execute(api);
    expect((await tagged.get(`/api/v1/runs/${others}`)).status).toBe(404);

    const named = await withToken({ scopes: ['runs:read', 'runs:execute'], runIds: [others] });
    expect((await named.post(`/api/v1/workflows/${workflowId}/execute`, {})).status).toBe(404);
    expect((await named.get('/api/v1/runs')).body.data.runs).toMatchObject([{ id: others }]);
    expect((await named.get(`/api/v1/runs?tag=customer-7`)).body.data.runs).toEqual([]);
    expect((await named.post(`/api/v1/runs/${others}/cancel`)).status).toBe(200);
  });

  test('of another tenant, or of the other environment, finds nothing', async () => {
    const runId = await execute(api);
    const foreign = await product.createTenant();
    const asked = { scopes: ['runs:read', 'runs:execute'], runIds: [runId], workflowIds: [workflowId] };
    for (const key of [foreign.testKey, tenant.liveKey]) {
      const token = apiClient(base, await issue(asked, apiClient(base, key)));
      expect((await token.get(`/api/v1/runs/${runId}`)).status).toBe(404);
      expect((await token.get('/api/v1/runs')).body.data.runs).toEqual([]);
      expect((await token.post(`/api/v1/workflows/${workflowId}/execute`, {})).status).toBe(404);
    }
  });

  test('has as many uses as it was given, however they race', async () => {
    const runId = await execute(api);
    const token = await withToken({ scopes: ['runs:read'], maxUses: 7 });
    // What is not accepted is no use.
    expect((await token.get('/api/v1/workflows')).status).toBe(403);
    expect((await token.post(`/api/v1/runs/${runId}/cancel`)).status).toBe(403);
    const answers = await Promise.all(Array.from({ length: 50 }, () => token.get(`/api/v1/runs/${runId}`)));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused).toHaveLength(43);
    for (const one of refused) expect(one).toMatchObject(expired);
  });

  test('ends with its key at once, and what it has open does too', async () => {
    const waiting = await makeWorkflow(api, { steps: [{ id: 'later', type: 'wait', for: '10m' }] });
    const runId = await execute(api, waiting.id);
    const { id, key } = await issueKey({});
    const token = await issue({ scopes: ['runs:read'], runIds: [runId] }, apiClient(base, key));
    const stream = await followEvents(`${base}/api/v1/runs/${runId}/events`, token);
    expect(stream.status).toBe(200);
    await revoke(product.database, id);
    const revokedAt = Date.now();
    expect(await apiClient(base, token).get(`/api/v1/runs/${runId}`)).toMatchObject(unknown);
    for await (const _ of stream.events);
    expect(Date.now() - revokedAt).toBeLessThan(soonMs);
  });

  test('that has ended says so for a day, and closes its streams', async () => {
    // No process performs runs, so the stream stays open until the token ends.
    const own = await openProduct();
    try {
      const at = (await own.serve()).api;
      const by = apiClient(at, (await own.createTenant()).testKey);
      const runId = await execute(by, (await makeWorkflow(by)).id);
      const token = await issue({ scopes: ['runs:read'], runIds: [runId], origins: [site] }, by);
      const stream = await followEvents(`${at}/api/v1/runs/${runId}/events`, token);
      expect(stream.status).toBe(200);
      await advance(own, 900_000);
      for await (const _ of stream.events);
      const answer = await apiClient(at, token).get(`/api/v1/runs/${runId}`, { origin: site });
      expect(answer).toMatchObject(expired);
      expect(answer.headers.get('access-control-allow-origin')).toBe(site);
      const kept = await own.database.pool.query('select id from browser_token');
      expect(kept.rows).toHaveLength(1);
    } finally {
      await own.close();
    }
  });
});

describe('a token that a person makes', () => {
  const person = (role: Person['role']) =>
    personWith({ database: product.database, base, organizationId: tenant.organizationId }, role);
  const operator = { actor: 'operator' } as const;

  /** How the operator names a member. */
  const memberOf = async ({ email }: Person) => ({
    organizationId: organization(),
    memberId: await findMemberByEmail(product.database, organization(), email),
    by: 'owner' as const,
  });

  test('does what it names, as the person, in the environment of the request', async () => {
    const member = await person('member');
    const own = apiClient(
      base,
      await issue({ scopes: ['runs:read', 'runs:execute'], workflowIds: [workflowId], origins: [site] }, member.api),
    );
    const runId = await execute(own);
    expect((await own.get(`/api/v1/runs/${runId}`, { origin: site })).status).toBe(200);
    expect(await own.get(`/api/v1/runs/${runId}`, { origin: elsewhere })).toMatchObject(forbidden);
    expect(await own.get('/api/v1/workflows')).toMatchObject(forbidden);
    const live = await member.api.post(
      '/api/v1/tokens',
      { scopes: ['runs:read'] },
      { 'x-atelier-environment': 'live' },
    );
    expect(live.body.data.token).toMatch(/^pub_live_/);
    expect((await apiClient(base, live.body.data.token).get(`/api/v1/runs/${runId}`)).status).toBe(404);
    const { rows } = await product.database.pool.query(
      `select t.user_id = s."userId" as same, t.key_id from browser_token t join auth."session" s on s.id = t.session_id
        where t.organization_id = $1`,
      [organization()],
    );
    expect(rows).toEqual(Array(2).fill({ same: true, key_id: null }));
  });

  test('needs a member: who only looks makes none', async () => {
    const viewer = await person('viewer');
    expect(await viewer.api.post('/api/v1/tokens', { scopes: ['runs:read'] })).toMatchObject({
      status: 403,
      body: { error: { code: 'forbidden', details: { required: 'member' } } },
    });
  });

  const ends: [string, (member: Person) => Promise<unknown>][] = [
    ['the session', ({ api: session }) => session.post('/api/v1/account/sessions/revoke')],
    ['the membership', async (member) => removeMember(product.database, await memberOf(member), operator)],
    ['the role', async (member) => changeRole(product.database, await memberOf(member), 'viewer', operator)],
  ];
  test.each(ends)('ends with %s at once, and what it has open does within a second', async (_, end) => {
    const member = await person('admin');
    const waiting = await makeWorkflow(api, { steps: [{ id: 'later', type: 'wait', for: '10m' }] });
    const runId = await execute(api, waiting.id);
    const token = await issue({ scopes: ['runs:read'], runIds: [runId] }, member.api);
    const [stream, many] = await Promise.all([
      followEvents(`${base}/api/v1/runs/${runId}/events`, token),
      followEvents(`${base}/api/v1/runs/events?workflowId=${waiting.id}&deltas=true`, token),
    ]);
    expect([stream.status, many.status]).toEqual([200, 200]);
    const read = async ({ events }: typeof stream) => {
      for await (const _event of events);
    };
    const closed = Promise.all([read(stream), read(many)]);
    await end(member);
    const endedAt = performance.now();
    expect(await apiClient(base, token).get(`/api/v1/runs/${runId}`)).toMatchObject(unknown);
    await closed;
    expect(performance.now() - endedAt).toBeLessThan(soonMs);
    await api.post(`/api/v1/runs/${runId}/cancel`);
  });

  test('stays while its person stays a member', async () => {
    const admin = await person('admin');
    const own = apiClient(base, await issue({ scopes: ['runs:read'] }, admin.api));
    expect((await own.get('/api/v1/runs')).status).toBe(200);
    await changeRole(product.database, await memberOf(admin), 'member', operator);
    expect((await own.get('/api/v1/runs')).status).toBe(200);
  });
});

describe('pages of other origins', () => {
  const cors = ({ headers }: { headers: Headers }) =>
    Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-')));

  test('may ask for a request with a token from everywhere', async () => {
    const ask = (path: string, headers: Record<string, string>) =>
      fetch(base + path, { method: 'OPTIONS', headers: { origin: site, ...headers } });
    const wanted = {
      'access-control-request-method': 'GET',
      'access-control-request-headers': 'authorization,last-event-id',
    };
    const asked = await ask('/api/v1/runs/x/events', wanted);
    expect(asked.status).toBe(204);
    expect(cors(asked)).toEqual({
      'access-control-allow-origin': site,
      'access-control-allow-methods': 'GET, HEAD',
      'access-control-allow-headers': 'authorization, content-type, idempotency-key, last-event-id',
      'access-control-max-age': '600',
    });
    expect(asked.headers.get('vary')).toBe('Origin');
    expect(cors(await ask(`/api/v1/workflows/${workflowId}/execute`, wanted))).toMatchObject({
      'access-control-allow-methods': 'POST',
    });
    // Our client names the dialect that it reads.
    const byClient = { ...wanted, 'access-control-request-headers': 'authorization,x-api-variant,x-else' };
    expect(cors(await ask('/api/v1/runs', byClient))['access-control-allow-headers']).toBe(
      'authorization, content-type, idempotency-key, last-event-id, x-api-variant',
    );
    // Without the header that carries a token, or without asking for a method, it is no preflight of ours.
    for (const headers of [
      { 'access-control-request-method': 'GET' },
      { ...wanted, 'access-control-request-headers': 'x-api-key' },
      { 'access-control-request-headers': 'authorization' },
    ]) {
      const answer = await ask('/api/v1/runs', headers);
      expect([answer.status, cors(answer)]).toEqual([405, {}]);
    }
    expect((await ask('/api/v1/nothing', wanted)).status).toBe(404);
  });

  test('read answers to tokens, and no others', async () => {
    const runId = await execute(api);
    const path = `/api/v1/runs/${runId}`;
    const token = await withToken({ scopes: ['runs:read'], runIds: [runId] });
    const found = await token.get(path, { origin: elsewhere });
    expect([found.status, cors(found)]).toEqual([
      200,
      {
        'access-control-allow-origin': elsewhere,
        'access-control-expose-headers':
          'X-Request-ID, Retry-After, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset',
      },
    ]);
    expect(found.headers.get('vary')).toBe('Origin');
    expect(cors(await token.get(path))).toEqual({});
    // A page learns why it is refused.
    const refused = await token.post(`${path}/retry`, {}, { origin: elsewhere });
    expect([refused.status, cors(refused)['access-control-allow-origin']]).toEqual([403, elsewhere]);

    const none = apiClient(base);
    const invented = `pub_test_${'0'.repeat(42)}`;
    for (const answer of [
      await api.get(path, { origin: elsewhere }),
      await none.get(path, { origin: elsewhere }),
      await none.get('/api/health', { origin: elsewhere }),
      await apiClient(base, invented).get(path, { origin: elsewhere }),
      await none.get('/api/v1/nothing', { origin: elsewhere }),
    ]) {
      expect(cors(answer)).toEqual({});
    }
  });

  test('from which a token is not accepted are refused before anything happens', async () => {
    const runId = await execute(api);
    const path = `/api/v1/runs/${runId}`;
    const token = await withToken({ scopes: ['runs:read'], origins: [site, 'http://localhost:3000'], maxUses: 2 });
    for (const origin of [elsewhere, 'https://app.example.com.evil.example', 'null', `${site}:444`]) {
      const answer = await token.get(path, { origin });
      expect(answer).toMatchObject(forbidden);
      expect(cors(answer)).toEqual({});
      expect(answer.headers.get('x-ratelimit-limit')).toBeNull();
    }
    expect(cors(await token.get(path, { origin: site }))).toMatchObject({ 'access-control-allow-origin': site });
    expect((await token.get(path, { origin: 'http://localhost:3000' })).status).toBe(200);
    const usedUp = await token.get(path, { origin: site });
    expect(usedUp).toMatchObject(expired);
    expect(cors(usedUp)).toMatchObject({ 'access-control-allow-origin': site });
  });
});

test('tokens are removed a day after their end', async () => {
  const { forgetEndedTokens } = await import('../../src/tenancy/tokens/forget-tokens.ts');
  await issue({ scopes: ['runs:read'] });
  await endToken('23 hours');
  const token = await issue({ scopes: ['runs:read'] });
  await endToken('25 hours');
  const before = await product.database.pool.query('select 1 from browser_token where organization_id = $1', [
    organization(),
  ]);
  expect(await forgetEndedTokens(product.database, 1_000)).toBeGreaterThanOrEqual(1);
  const after = await product.database.pool.query('select 1 from browser_token where organization_id = $1', [
    organization(),
  ]);
  expect(before.rows.length - after.rows.length).toBe(1);
  expect(await apiClient(base, token).get('/api/v1/runs')).toMatchObject(unknown);
});
