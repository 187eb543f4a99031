import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { countRunBlocks } from '../../src/automation/runs/run-blocks.ts';
import '../../src/automation/runs/run-list.ts';
import { statements } from '../../src/platform/database/sql.ts';
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
/** The tenant of a workflow, as statements are given it. */
async function tenantOf(workflowId: string): Promise<unknown[]> {
  const find = 'select organization_id, environment from automation where id = $1';
  return Object.values((await product.database.pool.query(find, [workflowId])).rows[0]);
}
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

test('a page of runs with large inputs and outputs is small, and nothing large is read for it', async () => {
  const { id } = await makeWorkflow(api, {
    steps: [
      { id: 'large', type: 'transform', expression: 'input' },
      { id: 'small', type: 'transform', expression: '1' },
    ],
  });
  const input = randomBytes(375_000).toString('hex');
  for (let n = 0; n < 6; n++) await api.post(`/v1/workflows/${id}/execute`, { input, variables: { n: String(n) } }, {});
  await api.post(`/v1/workflows/${id}/execute`, { input: 'y'.repeat(10_000) });
  const { body } = await list('?limit=100', id);
  expect(JSON.stringify(body).length).toBeLessThan(40_000);
  const [within, large] = body.data.runs;
  expect(within.output).toEqual({ result: 1, steps: { large: 'y'.repeat(10_000), small: 1 } });
  expect(large.input).toEqual({
    input: { $ref: `/api/v1/runs/${large.id}/input`, bytes: 750_002 },
    variables: { n: '5' },
  });
  expect(large.output).toEqual({
    result: 1,
    steps: { large: { $ref: `/api/v1/runs/${large.id}/outputs/large`, bytes: 750_002 }, small: 1 },
  });
  expect((await api.get(large.input.input.$ref)).body.data.input).toBe(input);

  // What PostgreSQL reads to answer, in kilobytes.
  const { rows } = await product.database.pool.query(
    `explain (analyze, serialize text, format json) ${statements.get('run.list')?.text}`,
    [...(await tenantOf(id)), id, 7, 100, 0],
  );
  expect(rows[0]['QUERY PLAN'][0].Serialization['Output Volume']).toBeLessThan(40);
});

test('runs in flight are found by their state', async () => {
  const slow = await makeWorkflow(api, 'sandbox:slow=600');
  const { body } = await api.post(`/v1/workflows/${slow.id}/execute`, { input: 'x', async: true }, {});
  const shown = await until('the run is running', async () => {
    const { data } = (await list('?status=RUNNING', slow.id)).body;
    return data.pagination.total === 1 && data.runs[0];
  });
  expect(shown.id).toBe(body.data.runId);
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

/** Ends of runs that look random and are the same each time. */
const statusOf = (n: number) => {
  if ([1_500, 3_100].includes(n)) return 'running';
  return ['completed', 'completed', 'failed', 'cancelled', 'completed'][(n * 7_919) % 5]!;
};

test('thousands of runs are counted and paged by status without reading each of them', async () => {
  const { id } = await makeWorkflow(api, { steps: [] });
  const tenant = await tenantOf(id);
  const { pool } = product.database;
  const count = 5_250;
  const statuses = Array.from({ length: count }, (_, index) => statusOf(index + 1));
  await pool.query(
    `with counted as (update automation set total_runs = $4 where id = $3 returning definition_id)
     insert into run (id, organization_id, environment, automation_id, definition_id, number, status, input, variables,
                      finished_steps, total_steps, correlation_id, created_at, checked_at)
     select uuidv7(), $1, $2, $3, definition_id, n, status, '1', '{}', 0, 0, 'seeded', now(), now()
       from counted, unnest($5::text[]) with ordinality as given (status, n)`,
    [...tenant, id, count, statuses],
  );
  await countRunBlocks(product.database);
  const blocks = async () =>
    (await pool.query('select block from run_block where automation_id = $1 order by block', [id])).rows.map(
      ({ block }) => block,
    );
  // Those with a run in progress are counted later.
  expect(await blocks()).toEqual([0, 2, 4]);

  const idOf = new Map(
    (await pool.query('select number, id from run where automation_id = $1', [id])).rows.map((row) => [
      row.number,
      row.id,
    ]),
  );
  const expectPages = async (open: string) => {
    const now = statuses.map((status) => (status === 'running' ? open : status));
    for (const status of ['completed', 'failed', 'cancelled', 'running']) {
      const numbers = now.flatMap((one, index) => (one === status ? [index + 1] : [])).reverse();
      for (const offset of [0, 3, 199, 200, 499, 1_033, 2_000, numbers.length - 5, numbers.length, 1_000_000]) {
        if (offset < 0) continue;
        const { body } = await list(`?status=${status}&limit=50&offset=${offset}`, id);
        expect(body.data.pagination.total).toBe(numbers.length);
        expect(ids(body.data.runs)).toEqual(numbers.slice(offset, offset + 50).map((number) => idOf.get(number)));
      }
    }
  };
  await expectPages('running');
  await pool.query("update run set status = 'failed' where automation_id = $1 and status = 'running'", [id]);
  await expectPages('failed');
  await countRunBlocks(product.database);
  expect(await blocks()).toEqual([0, 1, 2, 3, 4]);
  await expectPages('failed');

  await api.delete(`/v1/workflows/${id}`);
  await until('it is purged', async () => (await blocks()).length === 0);
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

interface PlanNode {
  'Relation Name'?: string;
  'Index Name'?: string;
  'Rows Removed by Filter'?: number;
  Plans?: PlanNode[];
}

/** The nodes of a plan that read a table. */
const scansOf = (node: PlanNode, table: string): PlanNode[] => [
  ...(node['Relation Name'] === table ? [node] : []),
  ...(node.Plans ?? []).flatMap((inner) => scansOf(inner, table)),
];

test('a page of a rare status is read along the index of statuses, though PostgreSQL believes that the status is common', async () => {
  const { id } = await makeWorkflow(api);
  const owner = new pg.Client({ connectionString: product.ownerUrl });
  await owner.connect();
  try {
    // In one transaction: runs that have ended are counted at any time, and never change.
    await owner.query('begin');
    await owner.query(
      `insert into run (id, organization_id, environment, automation_id, definition_id, number, status, variables,
                        finished_steps, total_steps, correlation_id, created_at, started_at, finished_at)
       select uuidv7(), organization_id, environment, id, definition_id, n, 'cancelled', '{}', 0, 1, 'many', now(), now(), now()
         from automation, generate_series(1, 30000) n where id = $1`,
      [id],
    );
    await owner.query('update automation set total_runs = 30000 where id = $1', [id]);
    await owner.query('analyze run');
    await owner.query(`update run set status = 'completed' where automation_id = $1 and number % 1500 > 0`, [id]);
    await owner.query('commit');
  } finally {
    await owner.end();
  }
  const { body } = await list('?status=CANCELLED&limit=15&offset=3', id);
  expect(body.data.pagination).toEqual({ total: 20, limit: 15, offset: 3, hasMore: true });
  expect(body.data.runs).toHaveLength(15);
  const { rows } = await product.database.pool.query(
    `explain (analyze, format json) ${statements.get('run.list_by_status')?.text}`,
    [...(await tenantOf(id)), id, 'cancelled', 30_000, 20, 0],
  );
  const scans = scansOf(rows[0]['QUERY PLAN'][0].Plan, 'run');
  expect(scans.map((scan) => scan['Index Name'])).toEqual(['run_automation_id_status_number_index']);
  // Rows that were read in vain: those whose status has changed since, at most, and not every run.
  expect(scans[0]!['Rows Removed by Filter'] ?? 0).toBeLessThan(100);
});
