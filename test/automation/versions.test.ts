import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { applyPatch } from 'rfc6902';
import { removeUnusedDefinitions } from '../../src/automation/definitions/unused-definitions.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { endOf } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  api = product.api;
});
afterAll(() => product.close());

const prompt = (id: string, text: string) => ({ id, type: 'prompt', prompt: text });

async function make(fields: object = {}): Promise<string> {
  const created = await api.post('/api/v1/workflows', { name: 'Versioned', steps: [prompt('a', 'One')], ...fields });
  expect(created.status).toBe(201);
  return `/api/v1/workflows/${created.body.data.id}`;
}

const versionsOf = async (path: string, query = '') => (await api.get(`${path}/versions${query}`)).body.data;

test('a save that changes what runs pin makes a version, and no other does', async () => {
  const path = await make({ config: { a: 1 } });
  const changes: [object, string[] | undefined][] = [
    [{ name: 'Renamed', description: 'x', isActive: true }, undefined],
    [{ steps: [prompt('a', 'One')], config: { a: 1 } }, undefined],
    [{}, undefined],
    [{ steps: [prompt('a', 'Two')] }, ['steps.0.prompt']],
    [{ steps: [prompt('a', 'Two'), prompt('b', 'New')], config: { a: 1, b: [2] } }, ['steps.1', 'config.b']],
    [{ aiModel: 'gpt-4o', aiProvider: 'OPENAI' }, ['aiModel', 'aiProvider']],
    [{ inputs: [{ name: 'who', type: 'string', required: false }] }, ['inputs.0']],
    [{ concurrency: { limit: 2, strategy: 'queue' } }, ['concurrency']],
    [{ maxDurationSeconds: 60 }, ['maxDurationSeconds']],
  ];
  let version = 1;
  for (const [change, expected] of changes) {
    expect((await api.patch(path, change)).status).toBe(200);
    if (expected) version += 1;
    expect((await api.get(path)).body.data.version).toBe(version);
    if (expected) expect((await versionsOf(path, '?limit=1')).versions[0].changes).toEqual(expected);
  }
  expect(await versionsOf(path, '?limit=2&offset=5')).toEqual({
    versions: [
      {
        version: 2,
        createdAt: expect.any(String),
        createdBy: expect.stringMatching(/^key_/),
        changes: ['steps.0.prompt'],
        isCurrent: false,
      },
      {
        version: 1,
        createdAt: expect.any(String),
        createdBy: expect.stringMatching(/^key_/),
        changes: [],
        isCurrent: false,
      },
    ],
    pagination: { total: 7, limit: 2, offset: 5, hasMore: false },
  });
  const inB = (await api.get(`${path}/versions?limit=1`, { 'x-api-variant': 'B' })).body.data;
  expect(inB).toMatchObject({ versions: [{ version: 7, isCurrent: true }], total: 7, limit: 1, offset: 0 });
});

test('a version is shown as it was saved, in the words of the dialect', async () => {
  const path = await make();
  await api.patch(path, { steps: [] });
  const shown = await api.get(`${path}/versions/1`);
  expect(shown.body.data).toEqual({
    version: 1,
    createdAt: expect.any(String),
    createdBy: expect.stringMatching(/^key_/),
    definition: {
      steps: [prompt('a', 'One')],
      config: {},
      aiModel: 'claude-sonnet-4-20250514',
      aiProvider: 'ANTHROPIC',
      inputs: [],
      concurrency: null,
      maxDurationSeconds: null,
    },
  });
  const inB = await api.get(`${path}/versions/1`, { 'x-api-variant': 'B' });
  expect(inB.body.data.definition.steps).toEqual([{ ...prompt('a', 'One'), type: 'ai_chat' }]);
  for (const number of ['3', '0', '-1', '1.5', 'x', '99999999999']) {
    expect(await api.get(`${path}/versions/${number}`)).toMatchObject({
      status: 404,
      body: { error: { code: 'not_found' } },
    });
  }
  const nobodys = '/api/v1/workflows/0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000/versions';
  for (const one of [nobodys, `${nobodys}/1`, `${nobodys}/1/diff`]) {
    expect((await api.get(one)).body.error.code).toBe('workflow_not_found');
  }
});

test('the difference of two versions turns one definition into the other', async () => {
  const path = await make({ steps: [prompt('a', 'One'), prompt('b', 'Two'), prompt('c', 'Three')] });
  await api.patch(path, {
    steps: [prompt('new', 'Zero'), prompt('a', 'One'), prompt('c', '3')],
    config: { x: { y: 1 } },
  });
  const definition = async (number: number) => (await api.get(`${path}/versions/${number}`)).body.data.definition;
  const [first, second] = [await definition(1), await definition(2)];
  for (const [of, to, from, expected] of [
    [1, '?to=2', first, second],
    [2, '?to=1', second, first],
    [1, '', first, second],
  ] as const) {
    const diff = (await api.get(`${path}/versions/${of}/diff${to}`)).body.data;
    expect(diff.length).toBeGreaterThan(0);
    const patched = structuredClone(from);
    expect(applyPatch(patched, diff).filter(Boolean)).toEqual([]);
    expect(patched).toEqual(expected);
  }
  expect((await api.get(`${path}/versions/1/diff?to=1`)).body.data).toEqual([]);
  expect((await api.get(`${path}/versions/1/diff?to=9`)).status).toBe(404);
  expect(await api.get(`${path}/versions/1/diff?to=x`)).toMatchObject({ status: 400 });
});

test('the difference of large definitions is found in bounded time, and is right', async () => {
  const list = (from: number) => Array.from({ length: 8_000 }, (_, index) => ({ n: from + index }));
  const path = await make({ config: { list: list(0) } });
  await api.patch(path, { config: { list: list(4_000) } });
  const diff = (await api.get(`${path}/versions/1/diff?to=2`)).body.data;
  const definition = (await api.get(`${path}/versions/1`)).body.data.definition;
  applyPatch(definition, diff);
  expect(definition.config.list).toEqual(list(4_000));
});

test('a version is restored as a new one', async () => {
  const path = await make();
  await api.patch(path, { steps: [prompt('a', 'Two')] });
  const restored = await api.post(`${path}/versions/1/restore`);
  expect(restored).toMatchObject({
    status: 201,
    body: { data: { version: 3, definition: { steps: [prompt('a', 'One')] } } },
  });
  expect((await api.get(path)).body.data).toMatchObject({ version: 3, steps: [{ prompt: 'One' }] });
  expect((await versionsOf(path)).versions[0]).toMatchObject({
    version: 3,
    changes: ['steps.0.prompt'],
    isCurrent: true,
  });
  const run = await api.post(`${path}/execute`, { input: 'x' });
  expect(run.body.data.output).toContain('One');
  expect((await api.post(`${path}/versions/7/restore`)).status).toBe(404);
});

test('a restore is done once per Idempotency-Key', async () => {
  const path = await make({ steps: [prompt('a', 'One')] });
  await api.patch(path, { steps: [prompt('a', 'Two')] });
  const restore = () => api.post(`${path}/versions/1/restore`, undefined, { 'idempotency-key': `restore ${path}` });
  const [first, again] = [await restore(), await restore()];
  expect(first).toMatchObject({ status: 201, body: { data: { version: 3 } } });
  expect(again).toMatchObject({ status: 201, body: first.body });
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect((await api.get(`${path}/versions`)).body.data.versions).toHaveLength(3);
});

test('a restore needs the scopes of the steps that it brings', async () => {
  const payload = { channel: 'C1', text: 'x' };
  const path = await make({
    steps: [{ id: 'act', type: 'action', integration: 'slack', action: 'send_message', payload }],
  });
  await api.patch(path, { steps: [] });
  const { organizationId } = product.tenant;
  const scopes = ['workflows:read', 'workflows:write'];
  const { key } = await createKey(product.database, { organizationId, environment: 'test', scopes });
  const limited = apiClient(product.process.api, key);
  expect(await limited.post(`${path}/versions/1/restore`)).toMatchObject({
    status: 403,
    body: { error: { code: 'forbidden', details: { required: 'integrations' } } },
  });
  expect((await limited.post(`${path}/versions/2/restore`)).status).toBe(201);
});

test('a change of a version that has been replaced is a conflict', async () => {
  const path = await make();
  const changed = await api.patch(path, { steps: [prompt('a', 'Two')], expectedVersion: 1 });
  expect(changed.status).toBe(200);
  expect(changed.body.data.warnings).toBeUndefined();
  expect(await api.patch(path, { name: 'Late', expectedVersion: 1 })).toMatchObject({
    status: 409,
    body: { error: { code: 'conflict', details: { version: 2 } } },
  });
  expect((await api.get(path)).body.data.name).toBe('Versioned');
  const both = await Promise.all(
    ['Three', 'Four'].map((text) => api.patch(path, { steps: [prompt('a', text)], expectedVersion: 2 })),
  );
  expect(both.map(({ status }) => status).toSorted()).toEqual([200, 409]);
});

test('a run executes the version that it names, and says which', async () => {
  const path = await make();
  await api.patch(path, { steps: [prompt('a', 'Two')] });
  const execute = async (body: object) => (await api.post(`${path}/execute`, body)).body;
  const runOf = async (id: string) => (await api.get(`/api/v1/runs/${id}`)).body.data;
  const first = (await execute({ input: 'x', version: 1 })).data;
  expect(first.output).toContain('One');
  expect(await runOf(first.runId)).toMatchObject({ version: 1 });
  const current = (await execute({ input: 'x' })).data;
  expect(current.output).toContain('Two');
  expect(await runOf(current.runId)).toMatchObject({ version: 2 });
  const listed = (await api.get(`${path}/runs`)).body.data.runs;
  expect(listed.map(({ version }: { version: number }) => version)).toEqual([2, 1]);
  expect((await execute({ input: 'x', version: 3 })).error).toMatchObject({
    code: 'validation_error',
    details: { errors: [{ path: 'version' }] },
  });
  const { id } = (await api.get(path)).body.data;
  expect((await api.post(`/api/v1/webhooks/${id}?version=1`, {})).body.data.runId).toEqual(expect.any(String));
  const yearly = { cron: '@yearly', timezone: 'UTC', paused: true, version: 1 };
  expect((await api.request('PUT', `${path}/schedule`, yearly)).body.data).toMatchObject({ version: 1 });
});

test('the newest thousand are listed, and those that runs have stay', async () => {
  const path = await make();
  const { runId } = (await api.post(`${path}/execute`, { input: 'x' })).body.data;
  const id = path.split('/').at(-1);
  // A thousand saves would take minutes: the versions in between were made and removed.
  const saved = async (prompted: string, version: number) => {
    expect((await api.patch(path, { steps: [prompt('a', prompted)] })).status).toBe(200);
    await product.database.pool.query(
      'update definition d set version = $2 from automation a where a.id = $1 and d.id = a.definition_id',
      [id, version],
    );
  };
  await saved('Two', 1_000);
  expect((await versionsOf(path)).versions.map(({ version }: { version: number }) => version)).toEqual([1_000, 1]);
  await saved('Three', 1_001);
  const { versions, pagination } = await versionsOf(path);
  expect([versions.map(({ version }: { version: number }) => version), pagination.total]).toEqual([[1_001, 1_000], 2]);
  await removeUnusedDefinitions(product.database);
  expect((await api.get(`${path}/versions/1`)).status).toBe(200);
  const retried = await api.post(`/api/v1/runs/${runId}/retry`, { fromStep: 'a' });
  expect((await endOf(api, retried.body.data.runId)).output.result).toContain('One');
});
