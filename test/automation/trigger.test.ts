import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { withinMinute } from '../tenancy/rate-windows.ts';
import { until } from '../until.ts';
import { inB, makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
/** A caller without a key. */
let anyone: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
  anyone = apiClient(product.process.api);
});
afterAll(() => product.close());

const echo = [{ id: 'say', type: 'transform', expression: '{"whole": input, "name": variables.name}' }];
const rotate = async (id: string): Promise<string> =>
  (await api.post(`/v1/workflows/${id}/webhook-secret`)).body.data.secret;
const outputOf = (runId: string) =>
  until('the run ends', async () => {
    const { body } = await api.get(`/v1/runs/${runId}`, inB);
    return body.data.status === 'completed' && body.data.output.result;
  });
const startsOf = async (id: string) => (await api.get(`/v1/workflows/${id}`)).body.data.totalRuns;

describe('a workflow is started from elsewhere', () => {
  test('by a caller with its secret, with the body as its inputs', async () => {
    const { id, wf } = await makeWorkflow(api, { steps: echo });
    const secret = await rotate(id);
    const body = { name: 'Ann', n: [1, { x: null }] };
    const inA = await anyone.post(`/api/v1/webhooks/${id}`, body, { 'x-webhook-secret': secret });
    expect(inA.status).toBe(200);
    expect(inA.body.data).toEqual({ runId: expect.any(String), status: 'RUNNING' });
    expect(await outputOf(inA.body.data.runId)).toEqual({ whole: body, name: 'Ann' });
    const answerInB = await anyone.post(`/v1/webhooks/${wf}`, body, { 'x-webhook-secret': secret });
    expect(answerInB.status).toBe(200);
    expect(answerInB.body.data).toEqual({ runId: expect.stringMatching(/^run_/), status: 'running' });
  });

  test('at the address in the answer of the workflow', async () => {
    const { id } = await makeWorkflow(api, { steps: echo });
    const { webhookUrl } = (await api.get(`/v1/workflows/${id}`, inB)).body.data;
    const answer = await anyone.post(
      new URL(webhookUrl).pathname,
      { name: 'x' },
      { 'x-webhook-secret': await rotate(id) },
    );
    expect(answer).toMatchObject({ status: 200, body: { data: { status: 'running' } } });
  });

  test('by a key of its organization that may execute', async () => {
    const { id } = await makeWorkflow(api, { steps: echo });
    const { status, body } = await api.post(`/v1/webhooks/${id}`, { name: 'Bob' });
    expect(status).toBe(200);
    expect(runIds.parse(body.data.runId)).toBe(body.data.runId);
    expect(await outputOf(body.data.runId)).toEqual({ whole: { name: 'Bob' }, name: 'Bob' });
  });

  test('by an address with its secret, under either prefix', async () => {
    const { id, wf } = await makeWorkflow(api, { steps: echo });
    const secret = await rotate(id);
    expect(secret).toMatch(/^trg_[\w-]{43}$/);
    const body = { name: 'Ann' };
    const idempotent = { 'idempotency-key': 'by-address' };
    const inA = await anyone.post(`/api/v1/webhooks/${id}/${secret}`, body, idempotent);
    expect(inA.status).toBe(200);
    expect(inA.body.data).toEqual({ runId: expect.any(String), status: 'RUNNING' });
    expect(await outputOf(inA.body.data.runId)).toEqual({ whole: body, name: 'Ann' });
    const again = await anyone.post(`/v1/webhooks/${wf}/${secret}`, body, {
      ...idempotent,
      'x-webhook-secret': secret,
    });
    expect(again.body.data).toEqual({ runId: runIds.format(inA.body.data.runId), status: 'running' });
    expect(await api.post(`/v1/webhooks/${id}/${secret}`, body)).toMatchObject({ status: 200 });
    expect(await startsOf(id)).toBe(2);
    expect(await anyone.get(`/v1/webhooks/${id}/${secret}`)).toMatchObject({ status: 405 });

    const { pool } = product.database;
    const tables = await pool.query(
      `select t.table_name as name, exists (select from information_schema.columns c
                where c.table_schema = 'public' and c.table_name = t.table_name and c.column_name = 'organization_id') as "hasTenant"
         from information_schema.tables t where t.table_schema = 'public'`,
    );
    expect(tables.rows.length).toBeGreaterThan(10);
    const organizationId = organizationIds.parse(product.tenant.organizationId);
    for (const { name, hasTenant } of tables.rows) {
      // Rows of other tenants, of which other tests make many, cannot have it.
      const ofTenant = hasTenant ? `row.organization_id = '${organizationId}' and` : '';
      const sql = `select from "${name}" as row where ${ofTenant} to_jsonb(row)::text like $1`;
      const found = await pool.query(sql, [`%${secret}%`]);
      expect({ name, found: found.rowCount }).toEqual({ name, found: 0 });
    }
    await until('the request is logged', async () =>
      product.process.log.some(({ route }) => route === '/api/v1/webhooks/{id}/{secret}'),
    );
    expect(JSON.stringify(product.process.log)).not.toContain(secret);
  });

  test('by a secret from before they had a prefix of their own', async () => {
    const { id } = await makeWorkflow(api, { steps: echo });
    const old = `whsec_${'x'.repeat(43)}`;
    const hash = createHash('sha256').update(old).digest();
    await product.database.pool.query('update automation set trigger_secret_hash = $2 where id = $1', [id, hash]);
    expect(await anyone.post(`/v1/webhooks/${id}`, {}, { 'x-webhook-secret': old })).toMatchObject({ status: 200 });
    // Nothing exists there.
    expect(await anyone.post(`/v1/webhooks/${id}/${old}`, {})).toMatchObject({ status: 404 });
  });

  test('once for each Idempotency-Key', async () => {
    const { id } = await makeWorkflow(api, { steps: echo });
    const headers = { 'x-webhook-secret': await rotate(id), 'idempotency-key': 'event-1' };
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => anyone.post(`/v1/webhooks/${id}`, { name: 'once' }, headers)),
    );
    expect(new Set(answers.map(({ body }) => body.data.runId)).size).toBe(1);
    expect(await startsOf(id)).toBe(1);
  });
});

describe('no other caller starts it', () => {
  test('with a wrong secret, even beside a good key, or with one that was replaced', async () => {
    const { id } = await makeWorkflow(api, { steps: echo });
    const old = await rotate(id);
    const secret = await rotate(id);
    expect(secret).not.toBe(old);
    for (const wrong of [old, `${secret}x`, 'trg_', id]) {
      for (const client of [anyone, api]) {
        const refused = { status: 401, body: { error: { code: 'unauthorized' } } };
        expect(await client.post(`/v1/webhooks/${id}`, {}, { 'x-webhook-secret': wrong })).toMatchObject(refused);
        if (wrong.startsWith('trg_'))
          expect(await client.post(`/v1/webhooks/${id}/${wrong}`, {})).toMatchObject(refused);
        const both = { 'x-webhook-secret': wrong };
        expect(await client.post(`/v1/webhooks/${id}/${secret}`, {}, both)).toMatchObject(refused);
      }
    }
    expect(await startsOf(id)).toBe(0);
    expect((await api.post(`/v1/webhooks/${id}`, {}, { 'x-webhook-secret': secret })).status).toBe(200);
  });

  test('with any secret where there is none, or beside a bad key', async () => {
    const without = await makeWorkflow(api, { steps: echo });
    const refused = { status: 401, body: { error: { code: 'unauthorized' } } };
    for (const client of [anyone, api]) {
      expect(await client.post(`/v1/webhooks/${without.id}`, {}, { 'x-webhook-secret': 'trg_x' })).toMatchObject(
        refused,
      );
    }
    const { id } = await makeWorkflow(api, { steps: echo });
    const secret = { 'x-webhook-secret': await rotate(id) };
    const badKey = apiClient(product.process.api, 'sk_test_nonsense');
    expect(await badKey.post(`/v1/webhooks/${id}`, {}, secret)).toMatchObject(refused);
    expect([await startsOf(id), await startsOf(without.id)]).toEqual([0, 0]);
  });

  test('without credentials, which says nothing of what exists', async () => {
    const { id } = await makeWorkflow(api, { steps: echo });
    const random = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000';
    for (const headers of [{}, { 'x-webhook-secret': 'guess' }]) {
      const [known, unknown, malformed] = await Promise.all(
        [id, random, 'nothing'].map((path) => anyone.post(`/v1/webhooks/${path}`, {}, headers)),
      );
      const said = ({ status, body }: typeof known & {}) => ({ status, ...body.error, requestId: '' });
      expect(said(known!)).toMatchObject({ status: 401 });
      expect(said(unknown!)).toEqual(said(known!));
      expect(said(malformed!)).toEqual(said(known!));
    }
  });

  test('with a key of another organization, or one without the scope', async () => {
    const { id } = await makeWorkflow(api, { steps: echo });
    const secret = await rotate(id);
    const stranger = apiClient(product.process.api, (await product.createTenant()).testKey);
    const live = apiClient(product.process.api, product.tenant.liveKey);
    for (const client of [stranger, live]) {
      const answer = await client.post(`/v1/webhooks/${id}`, {}, { 'x-webhook-secret': secret });
      expect(answer).toMatchObject({ status: 404, body: { error: { code: 'workflow_not_found' } } });
      const limits = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'];
      expect(limits.filter((name) => !answer.headers.has(name))).toEqual([]);
      expect(await client.post(`/v1/workflows/${id}/webhook-secret`)).toMatchObject({ status: 404 });
    }
    expect(await startsOf(id)).toBe(0);
  });

  test('when it is not active, or deleted', async () => {
    const { id } = await makeWorkflow(api, { steps: echo });
    const headers = { 'x-webhook-secret': await rotate(id) };
    await api.patch(`/v1/workflows/${id}`, { isActive: false });
    expect(await anyone.post(`/v1/webhooks/${id}`, {}, headers)).toMatchObject({
      status: 400,
      body: { error: { code: 'workflow_inactive' } },
    });
    await api.delete(`/v1/workflows/${id}`);
    expect(await anyone.post(`/v1/webhooks/${id}`, {}, headers)).toMatchObject({ status: 401 });
  });

  test('with inputs that it does not take', async () => {
    const inputs = [{ name: 'n', type: 'number', required: true }];
    const { id } = await makeWorkflow(api, { steps: [], inputs });
    const headers = { 'x-webhook-secret': await rotate(id) };
    expect(await anyone.post(`/v1/webhooks/${id}`, {}, headers)).toMatchObject({
      status: 400,
      body: { error: { details: { errors: [{ path: 'inputs.n' }] } } },
    });
    expect(await anyone.post(`/v1/webhooks/${id}`, [1], headers)).toMatchObject({ status: 400 });
  });
});

describe('a secret', () => {
  test('is stored nowhere in clear, and returned again only to the same request', async () => {
    const { id } = await makeWorkflow(api, { steps: echo });
    const headers = { 'idempotency-key': 'rotate-1' };
    const first = await api.post(`/v1/workflows/${id}/webhook-secret`, undefined, headers);
    const again = await api.post(`/v1/workflows/${id}/webhook-secret`, undefined, headers);
    expect(again.body.data.secret).toBe(first.body.data.secret);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    const { pool } = product.database;
    const stored = await pool.query(
      'select to_jsonb(a) as row from automation a union all select to_jsonb(i) from idempotency i',
    );
    expect(JSON.stringify(stored.rows)).not.toContain(first.body.data.secret);
    expect(JSON.stringify(product.process.log)).not.toContain(first.body.data.secret);
  });

  test('counts against the limits of its organization, as many workflows as it starts', () =>
    withinMinute(async () => {
      const { id: organizationId } = await createOrganization(product.database, {
        name: 'Triggered',
        plan: 'free',
        rateMinute: 12,
      });
      const { key } = await createKey(product.database, { organizationId, environment: 'test' });
      const limited = apiClient(product.process.api, key);
      const made = await Promise.all([1, 2].map(() => makeWorkflow(limited, { steps: echo })));
      const secrets = await Promise.all(
        made.map(async ({ id }) => (await limited.post(`/v1/workflows/${id}/webhook-secret`)).body.data.secret),
      );
      const call = (index: number) =>
        anyone.post(`/v1/webhooks/${made[index]!.id}`, {}, { 'x-webhook-secret': secrets[index] });
      expect(Number((await call(0)).headers.get('x-ratelimit-remaining'))).toBe(7);
      const answers = await Promise.all(Array.from({ length: 20 }, (_, index) => call(index % 2)));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(7);
      const refused = answers.filter(({ status }) => status === 429);
      expect(refused).toHaveLength(13);
      expect(refused[0]!.body.error.details).toMatchObject({ limit: 12, window: 'minute' });
      expect((await limited.get('/v1/credits')).status).toBe(429);
    }, 20));
});
