import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ApiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { inB, makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
/** A workflow with 24 runs: every third one failed. */
let workflow: { id: string; wf: string };
/** Newest first, as a list must show them. */
const runs: { id: string; status: 'COMPLETED' | 'FAILED' }[] = [];

beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
  workflow = await makeWorkflow(api);
  for (let n = 1; n <= 24; n++) {
    const input = n % 3 === 0 ? 'sandbox:fail' : `run ${n}`;
    const { body } = await api.post(`/v1/workflows/${workflow.id}/execute`, { input });
    runs.unshift(
      body.success ? { id: body.data.runId, status: 'COMPLETED' } : { id: body.error.details.runId, status: 'FAILED' },
    );
  }
});
afterAll(() => product.close());

const list = (query = '', id = workflow.id, headers = {}) => api.get(`/v1/workflows/${id}/runs${query}`, headers);
const ids = (of: { id: string }[]) => of.map(({ id }) => id);

test('a first page in A is every run up to 50, newest first', async () => {
  const { body } = await list();
  expect(ids(body.data.runs)).toEqual(ids(runs));
  expect(body.data.pagination).toEqual({ total: 24, limit: 50, offset: 0, hasMore: false });
});

test('a first page in B is 20 runs, with the figures beside the list', async () => {
  const { body } = await list('', workflow.wf);
  expect(body.data.runs.map(({ runId }: { runId: string }) => runId)).toEqual(
    runs.slice(0, 20).map(({ id }) => `run_${id.replaceAll('-', '')}`),
  );
  expect(body.data).toMatchObject({ total: 24, limit: 20, offset: 0 });
});

test.each([
  [1, 0, true],
  [5, 3, true],
  [100, 20, false],
  [4, 20, false],
  [10, 24, false],
  [10, 2_000_000_000, false],
])('limit %i and offset %i cut that page out', async (limit, offset, hasMore) => {
  const { body } = await list(`?limit=${limit}&offset=${offset}`);
  expect(ids(body.data.runs)).toEqual(ids(runs.slice(offset, offset + limit)));
  expect(body.data.pagination).toEqual({ total: 24, limit, offset, hasMore });
});

describe.each([
  ['A', {}],
  ['B', inB],
])('in dialect %s', (_, headers) => {
  test.each([
    ['COMPLETED', 'COMPLETED'],
    ['completed', 'COMPLETED'],
    ['FAILED', 'FAILED'],
    ['Failed', 'FAILED'],
    ['PENDING', undefined],
    ['queued', undefined],
    ['running', undefined],
    ['CANCELLED', undefined],
  ])('the filter status=%s shows the runs that it names and counts them', async (word, status) => {
    const { body } = await list(`?status=${word}&limit=100`, workflow.id, headers);
    const expected = runs.filter((run) => run.status === status);
    const shown = body.data.runs.map(({ id, runId }: { id?: string; runId: string }) => id ?? runId);
    expect(shown.map((id: string) => id.replace('run_', '').replaceAll('-', ''))).toEqual(
      ids(expected).map((id) => id.replaceAll('-', '')),
    );
    expect((body.data.pagination ?? body.data).total).toBe(expected.length);
  });
});

test('a filter and a page go together', async () => {
  const failed = runs.filter(({ status }) => status === 'FAILED');
  const { body } = await list('?status=failed&limit=3&offset=6');
  expect(ids(body.data.runs)).toEqual(ids(failed.slice(6, 9)));
  expect(body.data.pagination).toEqual({ total: 8, limit: 3, offset: 6, hasMore: false });
});

test.each([
  ['limit=0', 'limit'],
  ['limit=101', 'limit'],
  ['offset=-1', 'offset'],
  ['offset=x', 'offset'],
  ['status=done', 'status'],
  ['status=', 'status'],
  ['status=failed&status=completed', 'status'],
  ['limit=1&limit=1', 'limit'],
])('?%s is refused, and the parameter named', async (query, path) => {
  const answer = await list(`?${query}`);
  expect(answer).toMatchObject({ status: 400, body: { error: { code: 'validation_error' } } });
  expect(answer.body.error.details.errors).toEqual([{ path, message: expect.any(String) }]);
});

test('runs in flight are found by their state', async () => {
  const slow = await makeWorkflow(api, 'sandbox:slow=30');
  const { body } = await api.post(`/v1/workflows/${slow.id}/execute`, { input: 'x', async: true }, {});
  const shown = await until('the run is running', async () => {
    const { data } = (await list('?status=RUNNING', slow.id)).body;
    return data.pagination.total === 1 && data.runs[0];
  });
  expect(`run_${shown.id.replaceAll('-', '')}`).toBe(body.data.runId);
  expect(shown).toMatchObject({ status: 'RUNNING', output: null, error: null, durationMs: null });
  await api.delete(`/v1/workflows/${slow.id}`);
});

test('runs started at once are each counted, shown once and numbered without gaps', async () => {
  const { id } = await makeWorkflow(api, { steps: [] });
  const started = await Promise.all(
    Array.from({ length: 40 }, (_, n) => api.post(`/v1/workflows/${id}/execute`, { input: n })),
  );
  const runIds = started.map(({ body }) => body.data.runId);
  expect((await api.get(`/v1/workflows/${id}`)).body.data.totalRuns).toBe(40);
  const seen: string[] = [];
  for (let offset = 0; offset < 40; offset += 7)
    seen.push(...ids((await list(`?limit=7&offset=${offset}`, id)).body.data.runs));
  expect(seen).toHaveLength(40);
  expect(new Set(seen)).toEqual(new Set(runIds));
  const { rows } = await product.database.pool.query(
    'select number from run where automation_id = $1 order by number',
    [id],
  );
  expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: 40 }, (_, n) => n + 1));
});

test('a workflow that never ran has an empty list', async () => {
  const { id } = await makeWorkflow(api);
  expect((await list('', id)).body.data).toEqual({
    runs: [],
    pagination: { total: 0, limit: 50, offset: 0, hasMore: false },
  });
});

test.each(['nope', 'wf_0199', '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000'])(
  'the runs of %s are those of an unknown workflow',
  async (id) => {
    expect(await list('', id, { 'x-api-variant': 'A' })).toMatchObject({
      status: 404,
      body: { error: { code: 'workflow_not_found', details: { workflowId: id } } },
    });
  },
);
