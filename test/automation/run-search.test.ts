import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { endOf, inB, makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
let first: string;
let second: string;
/** All runs of this file, newest first: one in three failed, and the tags distinguish them. */
const runs: { runId: string; workflow: string; n: number; createdAt: string }[] = [];
const inA = { 'x-api-variant': 'A' };
const correlationId = `search-${Date.now()}`;

beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
  first = (await makeWorkflow(api)).id;
  second = (await makeWorkflow(api)).id;
  for (let n = 0; n < 12; n++) {
    const workflow = n % 2 === 0 ? first : second;
    const body = { input: n % 3 === 0 ? 'sandbox:fail' : 'x', tags: ['search', `n${n % 4}`], async: true };
    const answer =
      n === 11
        ? await api.post(`/api/v1/webhooks/${workflow}?tags=search,n3`, {}, { 'x-correlation-id': correlationId })
        : await api.post(`/api/v1/workflows/${workflow}/execute`, body, { ...inA, 'x-correlation-id': correlationId });
    const { runId } = answer.body.data;
    await endOf(api, runId);
    const { createdAt } = (await api.get(`/api/v1/runs/${runId}`, inA)).body.data;
    runs.unshift({ runId, workflow, n, createdAt });
  }
});
afterAll(() => product.close());

const search = async (query: string, headers: Record<string, string> = inA) =>
  (await api.get(`/api/v1/runs?${query}`, headers)).body.data;
const idsOf = (found: { runs: { id: string }[] }) => found.runs.map(({ id }) => id);
const those = (matches: (run: (typeof runs)[number]) => boolean) => runs.filter(matches).map(({ runId }) => runId);

test('each filter, and several of them, find the same runs as a look at all of them', async () => {
  const failed = (n: number) => n % 3 === 0;
  const [middle] = runs.slice(5);
  const cases: [query: string, matches: (run: (typeof runs)[number]) => boolean][] = [
    ['tag=search', () => true],
    ['tag=search,n1', ({ n }) => n % 4 === 1],
    [`tag=search&workflowId=${first}`, ({ workflow }) => workflow === first],
    [`workflowId=${second}`, ({ workflow }) => workflow === second],
    [`workflowId=${second}&status=FAILED`, ({ workflow, n }) => workflow === second && failed(n)],
    ['tag=search&status=failed', ({ n }) => failed(n)],
    ['tag=search&status=failed,completed', () => true],
    ['tag=search&errorCode=service_unavailable', ({ n }) => failed(n)],
    ['tag=search&triggeredBy=webhook', ({ n }) => n === 11],
    ['tag=search&triggeredBy=schedule', () => false],
    ['tag=search&version=1', () => true],
    ['tag=search&version=2', () => false],
    [`correlationId=${correlationId}`, () => true],
    [`tag=search&from=${middle!.createdAt}`, ({ createdAt }) => createdAt >= middle!.createdAt],
    [`tag=search&to=${middle!.createdAt}`, ({ createdAt }) => createdAt < middle!.createdAt],
    [
      `workflowId=${first}&from=${runs[8]!.createdAt}&to=${runs[3]!.createdAt}`,
      ({ workflow, createdAt }) =>
        workflow === first && createdAt >= runs[8]!.createdAt && createdAt < runs[3]!.createdAt,
    ],
    [`from=${runs.at(-1)!.createdAt}&triggeredBy=webhook&tag=search`, ({ n }) => n === 11],
    ['batchId=batch_00000000000000000000000000000000', () => false],
    [`parentRunId=${runs[0]!.runId}`, () => false],
    ['workflowId=nothing', () => false],
  ];
  for (const [query, matches] of cases) {
    const found = await search(`${query}&limit=100`);
    expect([query, idsOf(found)]).toEqual([query, those(matches)]);
    expect([query, found.pagination.total]).toEqual([query, those(matches).length]);
  }
});

test('pages follow each other by the cursor, in both dialects, whatever is filtered', async () => {
  for (const query of [
    'tag=search',
    `workflowId=${first}`,
    `correlationId=${correlationId}`,
    'tag=search&status=failed',
  ]) {
    const all = idsOf(await search(`${query}&limit=100`));
    const seen: string[] = [];
    for (let after = ''; ; ) {
      const page = await search(`${query}&limit=2${after && `&after=${after}`}`);
      seen.push(...idsOf(page));
      expect(page.pagination.hasMore).toBe(page.pagination.nextCursor !== null);
      if (page.pagination.nextCursor === null) break;
      after = page.pagination.nextCursor;
    }
    expect(seen).toEqual(all);
    expect(idsOf(await search(`${query}&limit=2&offset=1`))).toEqual(all.slice(1, 3));
  }
  const inOther = await search('tag=search&limit=5', inB);
  expect(inOther).toMatchObject({ total: 12, limit: 5, offset: 0, nextCursor: expect.any(String) });
  expect(inOther.runs[0]).toMatchObject({ triggeredBy: { type: 'webhook' }, tags: ['search', 'n3'] });
});

test('a total of more than 10,000 runs is not exact, and says so', async () => {
  const own = apiClient(product.process.api, (await product.createTenant({ plan: 'enterprise' })).testKey);
  const { id } = await makeWorkflow(own);
  const { runId } = (await own.post(`/api/v1/workflows/${id}/execute`, { input: 'x' }, inA)).body.data;
  // So many runs by requests would take an hour.
  const insert = (count: number, from: number) =>
    product.database.pool.query(
      `insert into run (id, organization_id, environment, automation_id, definition_id, number, status, variables,
                        finished_steps, total_steps, correlation_id, created_at, finished_at)
       select uuidv7(), organization_id, environment, automation_id, definition_id, $3 + n, 'completed', '{}', 1, 1, 'x', now(), now()
         from run, generate_series(1, $2) n where id = $1`,
      [runId, count, from],
    );
  const pagination = async (query: string) =>
    (await own.get(`/api/v1/runs?limit=1&${query}`, inA)).body.data.pagination;
  await insert(9_999, 1);
  const exact = await pagination('offset=9999');
  expect(exact).toMatchObject({ total: 10_000, hasMore: false });
  expect(exact).not.toHaveProperty('totalIsExact');
  await insert(1, 10_000);
  for (const query of ['offset=0', `workflowId=${id}`, 'status=completed']) {
    expect([query, await pagination(query)]).toMatchObject([
      query,
      { total: 10_000, totalIsExact: false, hasMore: true },
    ]);
  }
  const inOther = (await own.get('/api/v1/runs?limit=1', inB)).body.data;
  expect(inOther).toMatchObject({ total: 10_000, totalIsExact: false, nextCursor: expect.any(String) });
});

test('runs are found by the code that a step gave, and by their version, in bulk actions too', async () => {
  const code = `no_${'o'.repeat(61)}`;
  const refuse = { id: 'refuse', type: 'fail', message: 'On purpose.', code };
  const { id } = await makeWorkflow(api, { steps: [refuse] });
  const { runId } = (await api.post(`/api/v1/workflows/${id}/execute`, { async: true }, inA)).body.data;
  expect((await endOf(api, runId)).error).toMatchObject({ stepId: 'refuse', code });
  expect(idsOf(await search(`errorCode=${code}`))).toEqual([runId]);
  expect(idsOf(await search(`errorCode=${code}&version=2`))).toEqual([]);
  const [from, to] = [new Date(Date.now() - 3_600_000), new Date(Date.now() + 60_000)];
  for (const [version, examples] of [
    [1, [runId]],
    [2, []],
  ] as const) {
    const body = { action: 'retry', dryRun: true, filter: { from, to, errorCode: code, version } };
    const answer = await api.post('/api/v1/bulk-actions', body, inA);
    expect(answer).toMatchObject({ status: 200, body: { data: { total: examples.length, examples } } });
  }
});

test.each([
  'after=x',
  'after=x&offset=0',
  'status=gone',
  'tag=a b',
  'from=yesterday',
  'offset=10001',
  'errorCode=No code',
])('a search for %s is refused', async (query) => {
  expect((await api.get(`/api/v1/runs?${query}`)).status).toBe(400);
});
