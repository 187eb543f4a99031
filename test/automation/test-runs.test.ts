import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';

let product: StartedProduct;
let api: ApiClient;
let live: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  const tenant = await product.createTenant({ plan: 'enterprise' });
  api = apiClient(product.process.api, tenant.testKey);
  live = apiClient(product.process.api, tenant.liveKey);
});
afterAll(() => product.close());

type Body = Record<string, unknown>;
const inA = { 'x-api-variant': 'A' };

async function make(client: ApiClient, steps: Body[], more: Body = {}): Promise<string> {
  const made = await client.post('/api/v1/workflows', { name: 'Tried', steps, ...more });
  expect(made).toMatchObject({ status: 201 });
  return made.body.data.id;
}
const trial = (client: ApiClient, id: string, body: Body = {}) =>
  client.post(`/api/v1/workflows/${id}/test`, { input: null, ...body }, inA);

const compute = (id: string, expression: string) => ({ id, type: 'transform', expression });
const slack = { id: 'message', type: 'action', integration: 'slack', action: 'send_message' };

test.each(['test', 'live'])(
  "with a %s key, every step is the sandbox's, and nothing is left but the run",
  async (environment) => {
    const client = environment === 'live' ? live : api;
    const child = await make(client, [{ id: 'ask', type: 'prompt', prompt: 'Child {{input}}' }], {
      name: `Child ${environment}`,
    });
    const id = await make(client, [
      { id: 'ask', type: 'prompt', prompt: 'Say {{input.word}}' },
      { id: 'pause', type: 'wait', for: '300d' },
      { id: 'paid', type: 'event', event: 'order.paid' },
      {
        id: 'agree',
        type: 'approval',
        message: 'Well?',
        approvers: ['ada@example.com'],
        actions: [{ id: 'fine', label: 'Fine' }],
      },
      { id: 'fetch', type: 'http', url: 'https://crm.example.com/people', method: 'POST', body: { a: 1 } },
      { ...slack, payload: { channel: 'C1', text: 'Hello {{input.word}}' } },
      { id: 'inner', type: 'workflow', workflowId: child, input: '{{input.word}}' },
      compute('all', '[steps.paid.output == null, steps.agree.output.action, steps.fetch.output.body.body.a]'),
    ]);
    const before = (await client.get('/api/v1/usage')).body.data;
    const { status, body } = await trial(client, id, { input: { word: 'hi' } });
    expect({ status, data: body.data }).toMatchObject({
      status: 200,
      data: { status: 'COMPLETED', isTest: true, output: { result: [true, 'fine', 1] } },
    });
    const { steps } = body.data.output;
    expect(steps.ask).toContain('hi');
    expect(Math.abs(Date.parse(steps.pause.until) - Date.now())).toBeLessThan(60_000);
    expect(steps.message).toMatchObject({ channel: 'C1', ts: expect.any(String) });
    const runs = async (query: string) => (await client.get(`/api/v1/runs?${query}`)).body.data;
    const tests = await runs('test=true');
    expect(tests).toMatchObject({
      pagination: { total: 2 },
      runs: [
        { workflowId: child, isTest: true, parentRunId: body.data.id },
        { id: body.data.id, isTest: true },
      ],
    });
    expect(await runs(`test=true&workflowId=${id}`)).toMatchObject({ runs: [{ id: body.data.id }] });
    expect(await runs('')).toMatchObject({ runs: [], pagination: { total: 0 } });
    expect((await client.get(`/api/v1/workflows/${id}/runs`)).body.data).toMatchObject({
      runs: [],
      pagination: { total: 0 },
    });
    expect((await client.get(`/api/v1/workflows/${id}/runs?status=COMPLETED`)).body.data).toMatchObject({ runs: [] });
    expect((await client.get(`/api/v1/workflows/${id}`)).body.data).toMatchObject({ totalRuns: 0 });
    expect((await client.get(`/api/v1/runs/${body.data.id}`)).body.data).toMatchObject({
      id: body.data.id,
      isTest: true,
    });
    expect((await client.get('/api/v1/approvals')).body.data).toMatchObject({ approvals: [] });
    expect((await client.get('/api/v1/integrations/slack/actions')).body.data?.runs ?? []).toEqual([]);
    const after = (await client.get('/api/v1/usage')).body.data;
    expect({ runs: after.runs, tokens: after.tokens }).toEqual({ runs: before.runs, tokens: before.tokens });
    expect((await client.post(`/api/v1/runs/${body.data.id}/retry`, {})).status).toBe(409);
  },
);

test('mocks stand for steps, also in each item of a map, and an unknown one is refused', async () => {
  const id = await make(api, [
    {
      id: 'each',
      type: 'map',
      items: 'input',
      mode: 'settled',
      steps: [{ id: 'ask', type: 'prompt', prompt: 'x' }, compute('loud', 'steps.ask.output + "!"')],
    },
    { id: 'big', type: 'condition', expression: 'false', then: 'both', else: 'end' },
    {
      id: 'both',
      type: 'parallel',
      branches: [
        { id: 'a', steps: [compute('one', '1')] },
        { id: 'b', steps: [compute('two', '2')] },
      ],
    },
    compute('last', 'steps.both.output'),
  ]);
  const completed = await trial(api, id, {
    input: [1, 2],
    mocks: { ask: { output: 'mocked' }, big: { output: true }, both: { output: { any: 'thing' } } },
  });
  expect(completed.body.data).toMatchObject({
    status: 'COMPLETED',
    output: { steps: { each: { outputs: ['mocked!', 'mocked!'] }, last: { any: 'thing' } } },
  });
  const failed = await trial(api, id, {
    input: [1],
    mocks: { big: { error: { message: 'No luck.', code: 'no_luck' } } },
  });
  expect(failed).toMatchObject({
    status: 200,
    body: { data: { status: 'FAILED', error: 'No luck.' } },
  });
  expect(await trial(api, id, { input: [1], mocks: { absent: { output: 1 } } })).toMatchObject({
    status: 400,
    body: { error: { details: { errors: [{ path: 'mocks.absent' }] } } },
  });
  for (const [mock, path, message] of [
    [{ neither: 1 }, 'mocks.big', 'Expected an object with either `output` or `error`.'],
    [{ error: { message: 'No luck.' } }, 'mocks.big.error.code', 'Required.'],
  ]) {
    const refused = await trial(api, id, { mocks: { big: mock } });
    expect(refused).toMatchObject({ status: 400, body: { error: { details: { errors: [{ path, message }] } } } });
  }
});

test('a paused workflow, a full one and a draft are tested, of the version that is named', async () => {
  const id = await make(api, [compute('say', '"first"')], { concurrency: { limit: 1, strategy: 'skip' } });
  await api.request('PATCH', `/api/v1/workflows/${id}`, { steps: [compute('say', '"second"')], isActive: false });
  await api.post(`/api/v1/workflows/${id}/pause`, {});
  const results = await Promise.all([1, 2, undefined].map((version) => trial(api, id, { version })));
  expect(results.map(({ body }) => body.data.output.result)).toEqual(['first', 'second', 'second']);
  expect((await trial(api, id, { version: 9 })).status).toBe(400);
  expect((await api.get(`/api/v1/workflows/${id}`)).body.data.totalRuns).toBe(0);
  const empty = await make(api, []);
  expect((await trial(api, empty, { input: 'same' })).body.data).toMatchObject({
    status: 'COMPLETED',
    output: { result: 'same' },
  });
});

test('after a minute it is cancelled, and the answer says so', async () => {
  const id = await make(api, [{ id: 'say', type: 'prompt', prompt: 'sandbox:slow=600' }]);
  const waiting = trial(api, id);
  await until('it has begun, a minute ago', async () => {
    const { rowCount } = await product.database.pool.query(
      `update run set created_at = created_at - interval '60 seconds' where automation_id = $1 and is_test`,
      [id],
    );
    return rowCount === 1;
  });
  const { status, body } = await waiting;
  expect({ status, data: body.data }).toMatchObject({ status: 200, data: { status: 'CANCELLED', isTest: true } });
  const listed = (await api.get(`/api/v1/runs?test=true&workflowId=${id}&errorCode=timeout`, inA)).body.data;
  expect(listed.runs).toMatchObject([{ id: body.data.id }]);
});

test('an Idempotency-Key makes one test run, and no events are published', async () => {
  const id = await make(api, [compute('say', '1')]);
  const headers = { ...inA, 'idempotency-key': 'tried-once' };
  const ask = () => api.post(`/api/v1/workflows/${id}/test`, { input: 1 }, headers);
  const [first, again] = [await ask(), await ask()];
  expect(again.body.data.id).toBe(first.body.data.id);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  const { rows } = await product.database.pool.query('select 1 from event where subject_id = $1', [first.body.data.id]);
  expect(rows).toEqual([]);
});

test('a repeated test whose run was deleted is answered, and the process goes on', async () => {
  const id = await make(api, [compute('say', '1')]);
  const headers = { ...inA, 'idempotency-key': 'tried-and-deleted' };
  const ask = () => api.post(`/api/v1/workflows/${id}/test`, { input: 1 }, headers);
  const run = (await ask()).body.data.id;
  expect(await api.delete(`/api/v1/runs/${run}`)).toMatchObject({ status: 200 });
  expect(await ask()).toMatchObject({ status: 404, body: { error: { code: 'run_not_found' } } });
  // For longer than what waits for a run takes to look for it again.
  const slow = await make(api, [{ id: 'ask', type: 'prompt', prompt: 'sandbox:slow=3' }]);
  expect(await trial(api, slow)).toMatchObject({ status: 200, body: { data: { status: 'COMPLETED' } } });
});

test('a tested run starts at most 100 runs, itself and through those that it starts', async () => {
  const leaf = await make(api, [compute('done', 'true')]);
  const start = (workflowId: string, items: number) => [
    {
      id: 'each',
      type: 'map',
      items: JSON.stringify(Array.from({ length: items }, () => 1)),
      mode: 'settled',
      steps: [{ id: 'start', type: 'workflow', workflowId, mode: 'detach' }],
    },
  ];
  const middle = await make(api, start(leaf, 40));
  const id = await make(api, start(middle, 3));
  expect(await trial(api, id)).toMatchObject({ status: 200 });
  const runs = async (query: string) =>
    (await api.get(`/api/v1/runs?test=true&limit=1&${query}`)).body.data.pagination.total as number;
  await until(
    'the runs in the middle have ended',
    async () => (await runs(`workflowId=${middle}&status=completed`)) === 3,
  );
  expect(await runs(`workflowId=${leaf}`)).toBe(97);
  const middles = (await api.get(`/api/v1/runs?test=true&workflowId=${middle}`)).body.data.runs;
  const results = await Promise.all(
    middles.map(async (run: { id: string }) => (await api.get(`/api/v1/runs/${run.id}`)).body.data.output.result),
  );
  const refused = results.flatMap(({ results: ofItems }) => ofItems).filter(({ error }) => error);
  expect(refused).toHaveLength(23);
  expect(refused[0].error.message).toContain('A tested run starts at most 100 runs.');
});

test('a mock named __proto__ is refused, and a header of that name is sent', async () => {
  const id = await make(api, [
    compute('__proto__', '1'),
    { id: 'fetch', type: 'http', url: 'https://crm.example.com/', headers: JSON.parse('{"__proto__":"x","X-A":"y"}') },
  ]);
  const refused = await trial(api, id, { mocks: JSON.parse('{"__proto__":{"output":2}}') });
  expect(refused).toMatchObject({ status: 400, body: { error: { code: 'validation_error' } } });
  expect(refused.body.error.details.errors).toMatchObject([{ path: 'mocks.__proto__' }]);
  const { body } = await trial(api, id);
  expect(Object.entries(body.data.output.steps).map(([step]) => step)).toEqual(['__proto__', 'fetch']);
  expect(JSON.stringify(body.data.output.steps.fetch.body.headers)).toContain('"__proto__":"x"');
});
