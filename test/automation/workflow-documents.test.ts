import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { createKey } from '../../src/tenancy/keys.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { sceneOf } from '../scheduling/scene.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  api = product.api;
});
afterAll(() => product.close());

const workflow = {
  name: 'Portable',
  description: 'Moves.',
  steps: [{ id: 'say', type: 'prompt', prompt: 'Say: {{input}}\n"quoted": yes' }],
  config: { any: ['thing', null, 1.5] },
  inputs: [{ name: 'who', type: 'string', required: false }],
  concurrency: { limit: 2, strategy: 'queue' },
  maxDurationSeconds: 60,
};

const importOf = (body: unknown, type = 'application/json', client = api) =>
  client.request('POST', '/api/v1/workflows/import', body, { 'content-type': type });
const count = async () => (await api.get('/api/v1/workflows?limit=1')).body.data.pagination.total;

test('a workflow is validated as it would be saved, and nothing is stored', async () => {
  const before = await count();
  const validate = async (body: unknown) => (await api.post('/api/v1/workflows/validate', body)).body.data;
  expect(await validate(workflow)).toEqual({ valid: true, errors: [], warnings: [] });
  expect(await validate({ name: 'x', steps: [{ id: 'a', type: 'dance' }] })).toMatchObject({
    valid: false,
    errors: [{ path: 'steps.0.type', message: expect.any(String) }],
  });
  expect(await validate({})).toMatchObject({ valid: false, errors: [{ path: 'name', message: 'Required.' }] });
  expect(await validate({ name: 'x', steps: [{ id: 'a', type: 'transform', expression: '1 +' }] })).toMatchObject({
    valid: false,
    errors: [{ path: 'steps.0.expression' }],
  });
  expect(await validate({ name: 'x', nmae: 'y', aiModel: 'nobodys' })).toMatchObject({
    valid: true,
    warnings: [
      { path: 'nmae', code: 'unknown_field' },
      { path: 'aiModel', code: 'unknown_model' },
    ],
  });
  expect((await api.post('/api/v1/workflows/validate', '[1')).status).toBe(400);
  expect(await count()).toBe(before);
});

test.each(['json', 'yaml'])('a workflow is exported and imported as %s, its schedule paused', async (format) => {
  const { id } = (await api.post('/api/v1/workflows', workflow)).body.data;
  const path = `/api/v1/workflows/${id}`;
  const triggers = [
    { event: `order.placed_${format}`, filter: 'event.data.total > 5', inputs: { who: 'event.data.who' } },
  ];
  expect((await api.request('PUT', `${path}/triggers`, { triggers })).status).toBe(200);
  const options = { tags: ['yearly'], metadata: { team: 'ops' }, expiresIn: 1.5, priority: 2, version: 1 };
  const schedule = { cron: '@yearly', timezone: 'UTC', input: 'x', variables: { a: 1 }, ...options };
  expect((await api.request('PUT', `${path}/schedule`, schedule)).status).toBe(200);

  const exported = await api.get(`${path}/export?format=${format}`);
  expect(exported.headers.get('content-type')).toContain(`application/${format}`);
  const document = format === 'yaml' ? parse(exported.body) : exported.body;
  expect(document).toEqual({
    atelier: 1,
    ...workflow,
    aiModel: 'claude-sonnet-4-20250514',
    aiProvider: 'ANTHROPIC',
    triggers,
    schedule,
  });
  const sent = format === 'yaml' ? exported.body : JSON.stringify(document);
  const imported = await importOf(sent, `application/${format}`);
  expect(imported).toMatchObject({ status: 201, body: { data: { name: 'Portable', isActive: true } } });
  const copy = `/api/v1/workflows/${imported.body.data.id}`;
  expect((await api.get(`${copy}/export`)).body).toEqual(document);
  expect((await api.get(`${copy}/schedule`)).body.data).toMatchObject({ paused: true, cron: '@yearly' });
});

test('documents that are no workflows are refused with what is wrong', async () => {
  const before = await count();
  const cases: [unknown, string, string][] = [
    [{ name: 'x' }, 'application/json', 'atelier'],
    [{ atelier: 2, name: 'x' }, 'application/json', 'atelier'],
    [{ atelier: 1 }, 'application/json', 'name'],
    [{ atelier: 1, name: 'x', steps: [{ id: 'a' }] }, 'application/json', 'steps.0.type'],
    [{ atelier: 1, name: 'x', schedule: { cron: '@yearly' } }, 'application/json', 'schedule.timezone'],
    [{ atelier: 1, name: 'x', triggers: [{}] }, 'application/json', 'triggers.0.event'],
    ['a: [', 'application/yaml', ''],
    ['atelier: 1\nname: x\nname: y', 'application/yaml', ''],
  ];
  for (const [body, type, path] of cases) {
    expect(await importOf(body, type)).toMatchObject({
      status: 400,
      body: { error: { code: 'validation_error', details: { errors: [{ path }] } } },
    });
  }
  const laughs = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
  for (let depth = 1; depth < 9; depth += 1) {
    const last = `*a${depth - 1}`;
    laughs.push(`a${depth}: &a${depth} [${Array.from({ length: 10 }, () => last).join(', ')}]`);
  }
  expect((await importOf(`atelier: 1\nname: x\nconfig:\n  ${laughs.join('\n  ')}`, 'application/yaml')).status).toBe(
    400,
  );
  expect((await importOf('x'.repeat(1024 * 1024 + 1), 'application/yaml')).status).toBe(413);
  expect(await importOf('{}', 'text/yaml')).toMatchObject({
    status: 415,
    body: { error: { message: 'Send the body as application/json or application/yaml.' } },
  });
  expect(
    (await api.request('POST', '/api/v1/workflows', 'name: x', { 'content-type': 'application/yaml' })).status,
  ).toBe(415);
  expect(await count()).toBe(before);
});

test('an import needs the scopes of what it brings, and is made once', async () => {
  const scopes = ['workflows:write', 'workflows:read'];
  const { organizationId } = product.tenant;
  const { key } = await createKey(product.database, { organizationId, environment: 'test', scopes });
  const limited = apiClient(product.process.api, key);
  const document = { atelier: 1, name: 'Scoped' };
  const payload = { channel: 'C1', text: 'x' };
  const acting = [{ id: 'act', type: 'action', integration: 'slack', action: 'send_message', payload }];
  const cases: [object, string][] = [
    [{ steps: acting }, 'integrations'],
    [{ schedule: { cron: '@yearly', timezone: 'UTC' } }, 'runs:execute'],
    [{ triggers: [{ event: 'order.placed' }] }, 'runs:execute'],
  ];
  for (const [more, required] of cases) {
    expect(await importOf({ ...document, ...more }, 'application/json', limited)).toMatchObject({
      status: 403,
      body: { error: { details: { required } } },
    });
  }
  expect((await importOf(document, 'application/json', limited)).status).toBe(201);
  const headers = { 'idempotency-key': 'import-once' };
  const [first, again] = [
    await api.request('POST', '/api/v1/workflows/import', document, headers),
    await api.request('POST', '/api/v1/workflows/import', document, headers),
  ];
  expect(again.body.data.id).toBe(first.body.data.id);
});

test('an import that is refused leaves nothing, and its Idempotency-Key can be used again', async () => {
  const client = apiClient(product.process.api, (await product.createTenant({ plan: 'free' })).testKey);
  const other = (await client.post('/api/v1/workflows', { name: 'Full', steps: [] })).body.data.id;
  const triggers = (n: number) => Array.from({ length: n }, (_, index) => ({ event: `order.number_${index}` }));
  const put = (n: number) => client.request('PUT', `/api/v1/workflows/${other}/triggers`, { triggers: triggers(n) });
  expect((await put(10)).status).toBe(200);
  const schedule = { cron: '@yearly', timezone: 'UTC' };
  const document = { atelier: 1, name: 'Whole', triggers: triggers(1), schedule };
  const importWhole = () =>
    client.request('POST', '/api/v1/workflows/import', document, { 'idempotency-key': 'whole-or-none' });
  expect(await importWhole()).toMatchObject({ status: 403, body: { error: { details: { limit: 10, plan: 'free' } } } });
  const names = async () =>
    (await client.get('/api/v1/workflows')).body.data.workflows.map(({ name }: { name: string }) => name);
  expect(await names()).toEqual(['Full']);
  expect((await put(0)).status).toBe(200);
  const made = await importWhole();
  expect(made).toMatchObject({ status: 201, body: { data: { name: 'Whole' } } });
  const copy = `/api/v1/workflows/${made.body.data.id}`;
  expect((await client.get(`${copy}/triggers`)).body.data.triggers).toMatchObject([{ event: 'order.number_0' }]);
  expect((await client.get(`${copy}/schedule`)).body.data).toMatchObject({ ...schedule, paused: true });
  expect((await importWhole()).body.data.id).toBe(made.body.data.id);
});

test('a workflow that a document names is found by its name, or the import says so and is not active', async () => {
  const named = `Named ${Date.now()}`;
  const steps = [
    { id: 'each', type: 'map', items: '[1]', steps: [{ id: 'start', type: 'workflow', workflowId: { $name: named } }] },
  ];
  const imported = async () => {
    const { status, body } = await importOf({ atelier: 1, name: 'Imported', steps });
    expect(status).toBe(201);
    return body.data;
  };
  const path = 'steps.0.steps.0.workflowId';
  expect(await imported()).toMatchObject({ isActive: false, warnings: [{ path, code: 'unresolved_name' }] });
  const { id } = (await api.post('/api/v1/workflows', { name: named })).body.data;
  const found = await imported();
  expect(found).toMatchObject({ isActive: true });
  expect(found).not.toHaveProperty('warnings');
  const shown = (await api.get(`/api/v1/workflows/${found.id}`)).body.data;
  expect(shown.steps[0].steps[0].workflowId).toBe(id);
  await api.post('/api/v1/workflows', { name: named });
  expect(await imported()).toMatchObject({ isActive: false, warnings: [{ path, code: 'unresolved_name' }] });
});

test('an event type that a step books is written by its name, and found by it in another environment', async () => {
  const live = apiClient(product.process.api, product.tenant.liveKey);
  const name = `Intro call ${Date.now()}`;
  const here = await sceneOf(api).offer({ name });
  const payload = { start: '{{input}}', attendee: { name: 'Grace', email: 'grace@example.com' } };
  const book = (eventTypeId: unknown) => ({ id: 'book', type: 'booking', payload: { eventTypeId, ...payload } });
  const steps = [book(here.id), { ...book('{{input.type}}'), id: 'other' }];
  const { id } = (await api.post('/api/v1/workflows', { name: 'Books', steps })).body.data;
  const document = (await api.get(`/api/v1/workflows/${id}/export`)).body;
  expect(document.steps).toEqual([book({ $name: name }), steps[1]]);
  const missing = (await importOf(document, 'application/json', live)).body.data;
  const path = 'steps.0.payload.eventTypeId';
  expect(missing).toMatchObject({ isActive: false, warnings: [{ path, code: 'unresolved_name' }] });
  const there = await sceneOf(live).offer({ name });
  const made = (await importOf(document, 'application/json', live)).body.data;
  expect(made).toMatchObject({ isActive: true });
  expect((await live.get(`/api/v1/workflows/${made.id}`)).body.data.steps[0]).toEqual(book(there.id));
});

test('a schedule of a later version is imported for the current one, with a warning', async () => {
  const schedule = { cron: '@yearly', timezone: 'UTC', version: 7 };
  const imported = await importOf({ atelier: 1, name: 'Later', schedule });
  expect(imported).toMatchObject({
    status: 201,
    body: { data: { isActive: true, warnings: [{ path: 'schedule.version', code: 'unknown_version' }] } },
  });
  const kept = (await api.get(`/api/v1/workflows/${imported.body.data.id}/schedule`)).body.data;
  expect(kept).toMatchObject({ cron: '@yearly', paused: true });
  expect(kept.version).toBeUndefined();
});

test('a step that names an unknown workflow or one of another organization is saved with a warning', async () => {
  const stranger = await product.createTenant();
  const theirs = (await apiClient(product.process.api, stranger.testKey).post('/api/v1/workflows', { name: 'Theirs' }))
    .body.data.id;
  const ours = (await api.post('/api/v1/workflows', { name: 'Ours' })).body.data.id;
  const start = (id: string, workflowId: string) => ({ id, type: 'workflow', workflowId });
  const steps = [
    start('own', ours),
    { id: 'each', type: 'map', items: '[1]', steps: [start('foreign', theirs), start('none', 'wf_nothing')] },
  ];
  const warnings = [0, 1].map((at) => ({ path: `steps.1.steps.${at}.workflowId`, code: 'unknown_workflow' }));
  const made = await api.post('/api/v1/workflows', { name: 'Starts', steps });
  expect(made).toMatchObject({ status: 201, body: { data: { warnings } } });
  const path = `/api/v1/workflows/${made.body.data.id}`;
  expect((await api.request('PATCH', path, { steps })).body.data).toMatchObject({ warnings });
  expect((await api.post('/api/v1/workflows/validate', { name: 'x', steps })).body.data).toMatchObject({
    valid: true,
    warnings,
  });
  expect((await api.get(`${path}/export`)).body.steps).toMatchObject([
    { workflowId: { $name: 'Ours' } },
    { steps: [{ workflowId: theirs }, { workflowId: 'wf_nothing' }] },
  ]);
});
