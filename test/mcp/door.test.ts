import { beforeAll, describe, expect, test } from '@jest/globals';
import { fixedTools } from '../../src/automation/core/mcp-tools.ts';
import { createKey, revokeKey } from '../../src/tenancy/keys.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import type { Json } from '../openapi/document.ts';
import { until } from '../until.ts';
import { envelope, post, request } from './clients.ts';
import { approve, greet, openMcpScene } from './scene.ts';

const scene = openMcpScene();
let api: ApiClient;
let base: string;
let key: string;
beforeAll(() => {
  ({ api, base, key } = scene);
});

describe('workflows as tools', () => {
  const patch = (client: ApiClient, id: string, mcp: unknown) => client.patch(`/api/v1/workflows/${id}`, { mcp });
  const names = async (as = key): Promise<string[]> => {
    const found: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const { result } = (await post(base, as, request('tools/list', { ...(cursor !== undefined && { cursor }) })))
        .body;
      expect(result).toMatchObject({ resultType: 'complete', ttlMs: 30_000, cacheScope: 'private' });
      expect(result.tools.length).toBeLessThanOrEqual(50);
      found.push(...result.tools.map(({ name }: Json) => name));
      cursor = result.nextCursor;
      if (cursor === undefined) return found;
    }
  };

  test('have a setting of no version, in both dialects, and in the exported document', async () => {
    const { id, wf } = await makeWorkflow(api, greet);
    const of = async (path: string) => (await api.get(`/api/v1/workflows/${path}`)).body.data;
    expect(await of(id)).not.toHaveProperty('mcp');
    const setting = { enabled: true, name: 'setting_of_no_version', description: 'Greets.' };
    expect((await patch(api, id, setting)).status).toBe(200);
    expect(await of(id)).toMatchObject({ mcp: setting, version: 1 });
    expect(await of(wf)).toMatchObject({ mcp: setting, version: 1 });
    expect((await api.get(`/api/v1/workflows/${id}/export`)).body).toMatchObject({ atelier: 1, mcp: setting });
    expect((await patch(api, id, null)).status).toBe(200);
    expect(await of(id)).not.toHaveProperty('mcp');
    expect(await names()).not.toContain('setting_of_no_version');
  });

  test('have a name of their own, or one of their id', async () => {
    const { testKey } = await scene.product.createTenant();
    const own = apiClient(base, testKey);
    const one = await makeWorkflow(own, { ...greet, mcp: { enabled: true } });
    const two = await makeWorkflow(own, { ...greet, mcp: { enabled: true, name: 'zebra' } });
    const three = await makeWorkflow(own, greet);
    const byId = `workflow_${one.id.slice(-12)}`;
    expect((await names(testKey)).slice(fixedTools.length)).toEqual([byId, 'zebra']);
    for (const name of ['zebra', 'speak', byId]) {
      const { status, body } = await patch(own, three.id, { enabled: true, name });
      expect({ status, code: body.error.code, details: body.error.details }).toEqual({
        status: 409,
        code: 'conflict',
        details: { name },
      });
    }
    expect((await patch(own, three.id, { enabled: true, name: 'No' })).status).toBe(400);
    expect((await patch(own, three.id, { enabled: false, name: 'zebra' })).status).toBe(200);
    expect((await patch(own, two.id, { enabled: true, name: 'zebra' })).status).toBe(200);
    await own.patch(`/api/v1/workflows/${two.id}`, { isActive: false });
    expect((await names(testKey)).slice(fixedTools.length)).toEqual([byId]);
    await own.delete(`/api/v1/workflows/${two.id}`);
    expect((await patch(own, three.id, { enabled: true, name: 'zebra' })).status).toBe(200);
    // The same names at the same time: one of them wins.
    const four = await makeWorkflow(own, greet);
    const both = await Promise.all([three, four].map(({ id }) => patch(own, id, { enabled: true, name: 'one_of_us' })));
    expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  });

  test('are at most 200 in an environment, on pages of 50 in one order', async () => {
    const { testKey, organizationId } = await scene.product.createTenant();
    const own = apiClient(base, testKey);
    const { id } = await makeWorkflow(own, greet);
    await scene.product.database.pool.query(
      `insert into automation (id, organization_id, environment, name, state, definition_id, total_runs, created_at, updated_at, tool_name)
       select gen_random_uuid(), organization_id, environment, name, state, definition_id, 0, created_at, updated_at,
              'tool_' || lpad(n::text, 3, '0')
         from automation, generate_series(1, 200) n where id = $1`,
      [id],
    );
    expect(organizationId).toBeDefined();
    const found = await names(testKey);
    expect(found).toHaveLength(fixedTools.length + 200);
    expect(found.slice(fixedTools.length)).toEqual(found.slice(fixedTools.length).toSorted());
    const { status, body } = await patch(own, id, { enabled: true });
    expect({ status, code: body.error.code, details: body.error.details }).toEqual({
      status: 403,
      code: 'forbidden',
      details: { limit: 200 },
    });
  });

  test('keep `action` and `comment` out of forms', async () => {
    for (const field of ['action', 'comment']) {
      const steps = approve({ type: 'object', properties: { [field]: { type: 'string' } } }).steps;
      const { status, body } = await api.post('/api/v1/workflows', { name: 'Ask', steps });
      expect({ status, path: body.error.details.errors[0].path }).toEqual({ status: 400, path: 'steps.0.form' });
    }
  });
});

describe('the door', () => {
  const list = request('tools/list');

  test('asks for a key first, as every route, and says so in JSON-RPC', async () => {
    for (const bad of [undefined, 'sk_test_nonsense', 'pub_test_nonsense']) {
      const { status, headers, body } = await post(base, bad, '{not json');
      expect({ status, challenge: headers.get('www-authenticate') }).toEqual({ status: 401, challenge: 'Bearer' });
      expect(body).toMatchObject({
        jsonrpc: '2.0',
        id: null,
        error: { code: -32000, message: expect.any(String), data: { code: 'unauthorized' } },
      });
    }
    const cookie = await post(base, undefined, list, { cookie: `session=${key}` });
    expect(cookie.status).toBe(401);
  });

  test('refuses keys that have expired or were revoked, before it reads what they send', async () => {
    const { database, tenant } = scene.product;
    const issue = (expires?: string) =>
      createKey(database, { organizationId: tenant.organizationId, environment: 'test', ...(expires && { expires }) });
    const [expired, revoked] = [await issue(new Date(Date.now() + 1_000).toISOString()), await issue()];
    expect((await post(base, revoked.key, list)).status).toBe(200);
    await revokeKey(database, revoked.id);
    await until('the key has expired', async () => (await post(base, expired.key, list)).status === 401);
    for (const [bad, code] of [
      [expired.key, 'expired_api_key'],
      [revoked.key, 'invalid_api_key'],
    ] as const) {
      for (const message of [list, '{not json']) {
        const { status, headers, body } = await post(base, bad, message);
        expect({ status, challenge: headers.get('www-authenticate') }).toEqual({ status: 401, challenge: 'Bearer' });
        expect(body.error).toMatchObject({ code: -32000, data: { details: { reason: code } } });
      }
    }
  });

  test('lets no page of another origin speak', async () => {
    const { status, headers, body } = await post(base, key, list, { origin: 'https://evil.example.com' });
    expect({ status, code: body.error.data.code }).toEqual({ status: 403, code: 'forbidden' });
    expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
  });

  test('reads a message with the limits of every body', async () => {
    const deep = `${'['.repeat(100)}${']'.repeat(100)}`;
    const many = JSON.stringify(Array.from({ length: 50_000 }, () => ({})));
    const messages = [
      '{not json',
      '',
      deep,
      '{"a":1,"a":2}',
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":${deep}}}}`,
      many,
    ];
    for (const message of messages) {
      const { status, body } = await post(base, key, message);
      expect({ message: message.slice(0, 20), status, id: body.id }).toEqual({
        message: message.slice(0, 20),
        status: 400,
        id: null,
      });
    }
    const large = await post(base, key, JSON.stringify('x'.repeat(1_100_000)));
    expect({ status: large.status, code: large.body.error.data.code }).toEqual({
      status: 413,
      code: 'payload_too_large',
    });
    const typed = await post(base, key, '{}', { 'content-type': 'text/plain' });
    expect(typed.status).toBe(415);
  });

  test('takes one message at a time, opens no stream, and knows no sessions', async () => {
    const { status, body } = await post(base, key, [list, list]);
    expect({ status, code: body.error.code }).toEqual({ status: 400, code: -32600 });
    const listening = await post(base, key, request('subscriptions/listen', { notifications: {} }));
    expect(listening.body.error.code).toBe(-32601);
    for (const method of ['GET', 'DELETE', 'PUT']) {
      const response = await fetch(new URL('/mcp', base), { method, headers: { authorization: `Bearer ${key}` } });
      expect({ method, status: response.status, allow: response.headers.get('allow') }).toEqual({
        method,
        status: 405,
        allow: 'POST',
      });
    }
    const { headers } = await post(base, key, list);
    expect(headers.get('mcp-session-id')).toBeNull();
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('x-ratelimit-limit')).not.toBeNull();
  });

  test('speaks the two revisions and refuses others by name', async () => {
    const discovered = (await post(base, key, request('server/discover'))).body.result;
    expect(discovered).toMatchObject({
      supportedVersions: ['2026-07-28'],
      capabilities: { tools: {}, extensions: { 'io.modelcontextprotocol/tasks': {} } },
    });
    const old = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    };
    expect((await post(base, key, old)).body.result).toMatchObject({
      protocolVersion: '2025-11-25',
      serverInfo: { name: 'atelier' },
    });
    const meta = { ...envelope(), 'io.modelcontextprotocol/protocolVersion': '2031-01-01' };
    const future = await post(base, key, request('tools/list', {}, meta), { 'mcp-protocol-version': '2031-01-01' });
    expect(future.body.error).toMatchObject({ code: -32022, data: { supported: ['2026-07-28'] } });
  });

  test('starts one run for calls with one Idempotency-Key', async () => {
    const { id } = await makeWorkflow(api, greet);
    const call = (who: string) =>
      post(
        base,
        key,
        request('tools/call', { name: 'run_workflow', arguments: { workflowId: id, variables: { who } } }, envelope()),
        { 'idempotency-key': `once-${id}` },
      );
    const [one, two] = [await call('Ada'), await call('Ada')];
    expect(two.body.result._meta['atelier/runId']).toBe(one.body.result._meta['atelier/runId']);
    expect((await call('Bob')).body.result.structuredContent.code).toBe('idempotency_key_reused');
  });
});
