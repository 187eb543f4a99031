import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { inB, makeWorkflow } from './make-workflow.ts';

const path = '/api/v1/workflows';
const states = ['active', 'draft', 'archived'] as const;

let product: Awaited<ReturnType<typeof sharedProduct>>;
/** The client of a tenant with 60 workflows, created one after the other, with alternating states. */
let api: ApiClient;
/** Newest first, as a list must show them. */
const made: { id: string; wf: string; status: string }[] = [];

beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
  for (let n = 0; n < 60; n++) {
    const status = states[n % 3]!;
    made.unshift({ ...(await makeWorkflow(api, { name: `W${n}`, status })), status });
  }
});
afterAll(() => product.close());

const idsOf = (answer: { body: { data: { workflows: { id: string }[] } } }) =>
  answer.body.data.workflows.map(({ id }) => id);

test('a first page in A is 50 workflows, newest first, with a pagination object', async () => {
  const answer = await api.get(path);
  expect(idsOf(answer)).toEqual(made.slice(0, 50).map(({ id }) => id));
  expect(answer.body.data.pagination).toEqual({ total: 60, limit: 50, offset: 0, hasMore: true });
  expect(Object.keys(answer.body.data).sort()).toEqual(['pagination', 'workflows']);
});

test('a first page in B is 20 workflows, with the figures beside the list', async () => {
  const answer = await api.get(path, inB);
  expect(idsOf(answer)).toEqual(made.slice(0, 20).map(({ wf }) => wf));
  expect(answer.body.data).toMatchObject({ total: 60, limit: 20, offset: 0 });
  expect(Object.keys(answer.body.data).sort()).toEqual(['limit', 'offset', 'total', 'workflows']);
});

test.each([
  [1, 0, true],
  [7, 13, true],
  [100, 0, false],
  [10, 50, false],
  [10, 49, true],
  [10, 60, false],
  [10, 2_000_000_000, false],
])('limit %i and offset %i cut that page out', async (limit, offset, hasMore) => {
  const answer = await api.get(`${path}?limit=${limit}&offset=${offset}`);
  expect(answer.status).toBe(200);
  expect(idsOf(answer)).toEqual(made.slice(offset, offset + limit).map(({ id }) => id));
  expect(answer.body.data.pagination).toEqual({ total: 60, limit, offset, hasMore });
});

test('pages put together are the whole list, each workflow once', async () => {
  const seen: string[] = [];
  for (let offset = 0; offset < 60; offset += 9) seen.push(...idsOf(await api.get(`${path}?limit=9&offset=${offset}`)));
  expect(seen).toEqual(made.map(({ id }) => id));
});

describe.each([
  ['A', {}],
  ['B', inB],
])('in dialect %s', (_, headers) => {
  test.each<[string, (status: string) => boolean]>([
    ['active=true', (status) => status === 'active'],
    ['active=false', (status) => status !== 'active'],
    ['status=active', (status) => status === 'active'],
    ['status=DRAFT', (status) => status === 'draft'],
    ['status=Archived', (status) => status === 'archived'],
    ['active=false&status=draft', (status) => status === 'draft'],
    ['active=true&status=draft', () => false],
  ])('the filter %s shows the workflows it names and counts them', async (filter, passes) => {
    const answer = await api.get(`${path}?limit=100&${filter}`, headers);
    const expected = made.filter(({ status }) => passes(status));
    expect(answer.status).toBe(200);
    expect(idsOf(answer).map((id) => id.replace('wf_', '').replaceAll('-', ''))).toEqual(
      expected.map(({ wf }) => wf.slice(3)),
    );
    expect((answer.body.data.pagination ?? answer.body.data).total).toBe(expected.length);
  });
});

test('a filter and a page go together', async () => {
  const drafts = made.filter(({ status }) => status === 'draft');
  const answer = await api.get(`${path}?status=draft&limit=5&offset=15`);
  expect(idsOf(answer)).toEqual(drafts.slice(15).map(({ id }) => id));
  expect(answer.body.data.pagination).toEqual({ total: 20, limit: 5, offset: 15, hasMore: false });
});

test.each([
  ['limit=0', 'limit'],
  ['limit=101', 'limit'],
  ['limit=-1', 'limit'],
  ['limit=ten', 'limit'],
  ['limit=1.5', 'limit'],
  ['limit=1e1', 'limit'],
  ['limit=', 'limit'],
  ['limit=%2B5', 'limit'],
  ['limit=99999999999999999999', 'limit'],
  ['limit=10&limit=20', 'limit'],
  ['offset=-1', 'offset'],
  ['offset=1.5', 'offset'],
  ['offset=x', 'offset'],
  ['offset=9007199254740993', 'offset'],
  ['offset=0&offset=0', 'offset'],
  ['active=yes', 'active'],
  ['active=', 'active'],
  ['active=true&active=true', 'active'],
  ['status=paused', 'status'],
  ['status=', 'status'],
  ['status=active&status=draft', 'status'],
])('?%s is refused, and the parameter named', async (query, place) => {
  const answer = await api.get(`${path}?${query}`);
  expect(answer).toMatchObject({ status: 400, body: { error: { code: 'validation_error' } } });
  expect(answer.body.error.details.errors).toEqual([{ path: place, message: expect.any(String) }]);
});

test('an offset beyond the largest is refused with the range', async () => {
  const { body } = await api.get(`${path}?offset=2000000001`);
  const message = 'Expected an integer from 0 to 2000000000.';
  expect(body.error.details.errors).toEqual([{ path: 'offset', message }]);
});

test('a parameter that means nothing here is ignored', async () => {
  expect(await api.get(`${path}?limit=1&sort=name&cursor=abc`)).toMatchObject({ status: 200 });
});

test('a tenant without workflows sees an empty page', async () => {
  const { testKey } = await product.createTenant();
  const answer = await apiClient(product.process.api, testKey).get(path);
  expect(answer.body.data).toEqual({
    workflows: [],
    pagination: { total: 0, limit: 50, offset: 0, hasMore: false },
  });
});
