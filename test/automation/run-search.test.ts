import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ApiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { endOf, inB, makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
let first: string;
let second: string;
/** All runs of this file, newest first: one in three failed, and the tags tell them apart. */
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

test.each([
  'after=x',
  'after=x&offset=0',
  'status=gone',
  'tag=a b',
  'from=yesterday',
  'offset=10001',
  'errorCode=none',
])('a search for %s is refused', async (query) => {
  expect((await api.get(`/api/v1/runs?${query}`)).status).toBe(400);
});
