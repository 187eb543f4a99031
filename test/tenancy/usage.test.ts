import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { maxValues } from '../../src/tenancy/core/usage-groups.ts';
import { UseCounter } from '../../src/tenancy/usage/use-counter.ts';
import { apiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { untilDayHasRoom } from './rate-windows.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
beforeAll(async () => {
  product = await sharedProduct();
});
afterAll(() => product.close());

test('usage counts the month’s requests, runs and tokens, and a deletion takes nothing from it', async () => {
  await untilDayHasRoom(30);
  const { api, process, tenant } = product;
  const steps = [{ id: 'say', type: 'prompt', prompt: '{{input}}' }];
  const { id } = (await api.post('/api/v1/workflows', { name: 'Used', steps })).body.data;
  const first = await api.post(`/api/v1/workflows/${id}/execute`, { input: 'a' });
  const second = await api.post(`/api/v1/workflows/${id}/execute`, { input: 'b' });
  await api.delete(`/api/v1/workflows/${id}`);
  const month = new Date().toISOString().slice(0, 7);
  const usage = await until('the requests are written down', async () => {
    const { data } = (await api.get('/api/v1/usage')).body;
    return data.requests >= 4 && data;
  });
  expect(usage).toMatchObject({
    period: { start: `${month}-01` },
    runs: 2,
    tokens: first.body.data.tokensUsed + second.body.data.tokensUsed,
  });
  const live = await apiClient(process.api, tenant.liveKey).get('/v1/usage');
  expect(live.body.data).toMatchObject({ runs: 0, tokens: 0 });
});

interface Group {
  group: string;
  requests: number | null;
  runs: number | null;
  failedRuns: number | null;
  tokens: number | null;
  credits: number | null;
}

test('usage is grouped by day, hour, kind, workflow, model, key and error', async () => {
  await untilDayHasRoom(60);
  const tenant = await product.createTenant({ plan: 'enterprise' });
  const api = apiClient(product.process.api, tenant.testKey);
  const create = async (prompt: string) => {
    const steps = [{ id: 'say', type: 'prompt', prompt }];
    return (await api.post('/api/v1/workflows', { name: prompt, steps })).body.data.id as string;
  };
  const [greets, fails] = [await create('{{input}}'), await create('sandbox:fail')];
  let tokens = 0;
  for (const input of ['a', 'b']) {
    tokens += (await api.post(`/api/v1/workflows/${greets}/execute`, { input })).body.data.tokensUsed;
  }
  expect((await api.post(`/api/v1/workflows/${fails}/execute`, { input: 'c' })).status).toBe(500);
  const image = await api.post('/api/studio/generate', { prompt: 'A lighthouse' });
  const groupsOf = async (groupBy: string): Promise<Map<string, Group>> => {
    const { status, body } = await api.get(`/api/v1/usage?groupBy=${groupBy}`);
    expect(status).toBe(200);
    return new Map(body.data.groups.map((group: Group) => [group.group, group]));
  };
  const byWorkflow = await until('the use is written down', async () => {
    const groups = await groupsOf('workflow');
    return groups.get(fails)?.failedRuns === 1 && groups.get(greets)?.runs === 2 && groups;
  });
  expect(byWorkflow.get(greets)).toMatchObject({ runs: 2, failedRuns: 0, tokens, requests: null, credits: null });
  expect(byWorkflow.get(fails)).toMatchObject({ runs: 1, failedRuns: 1 });
  const today = new Date().toISOString().slice(0, 10);
  const ofDay = (await groupsOf('day')).get(today)!;
  expect(ofDay).toMatchObject({ runs: 3, failedRuns: 1, tokens });
  expect(ofDay.requests).toBeGreaterThanOrEqual(6);
  const hours = [...(await groupsOf('hour')).values()];
  expect(hours.reduce((sum, { runs }) => sum + runs!, 0)).toBe(3);
  expect((await groupsOf('kind')).get('workflow')).toMatchObject({ runs: 3, failedRuns: 1, tokens, requests: null });
  expect([...(await groupsOf('model')).values()].reduce((sum, of) => sum + of.tokens!, 0)).toBe(tokens);
  const keys = [...(await groupsOf('key')).values()];
  expect(keys).toHaveLength(1);
  expect(keys[0]).toMatchObject({ group: expect.stringMatching(/^key_[0-9a-f]{32}$/), runs: 3, tokens: null });
  expect(keys[0]!.requests).toBeGreaterThanOrEqual(6);
  const errors = [...(await groupsOf('error')).values()];
  expect(errors).toEqual([expect.objectContaining({ failedRuns: 1, runs: null, group: expect.any(String) })]);
  expect(image.status).toBe(200);
  expect((await groupsOf('kind')).get('image')).toMatchObject({ credits: image.body.data.creditsUsed });

  const { body } = await api.get(`/api/v1/usage?from=${today}&to=${today}T23:00:00Z`);
  expect(body.data).toMatchObject({ period: { start: today }, runs: 3, tokens });
  expect(body.data).not.toHaveProperty('groups');
  const before = await api.get('/api/v1/usage?from=2020-01-01&to=2020-02-01&groupBy=day');
  expect(before.body.data).toMatchObject({ requests: 0, runs: 0, tokens: 0, credits: 0, groups: [] });

  const foreign = apiClient(product.process.api, (await product.createTenant()).testKey);
  expect((await foreign.get('/api/v1/usage?groupBy=workflow')).body.data.groups).toEqual([]);
  const live = apiClient(product.process.api, tenant.liveKey);
  expect((await live.get('/api/v1/usage?groupBy=workflow')).body.data.groups).toEqual([]);
  for (const query of [
    'groupBy=week',
    'from=yesterday',
    'from=2026-02-01&to=2026-01-01',
    'from=2020-01-01&to=2022-01-01',
    'from=2026-01-01&to=2026-03-01&groupBy=hour',
  ]) {
    expect([query, (await api.get(`/api/v1/usage?${query}`)).status]).toEqual([query, 400]);
  }
});

test('a tenant’s use has a bounded number of groups in a day', async () => {
  const tenant = await product.createTenant();
  const of = { organizationId: organizationIds.parse(tenant.organizationId)!, environment: 'test' as const };
  const log = { warn: jest.fn() };
  const counter = new UseCounter(product.database, log as never);
  const used = (from: number, count: number) =>
    Array.from({ length: count }, (_, index) => ({ by: 'model' as const, value: `m${from + index}`, tokens: 1 }));
  // In one process, in several, and over time.
  counter.add(of, 'system', used(0, 150));
  await counter.flush();
  counter.add(of, 'system', used(100, 300));
  await counter.flush();
  counter.add(of, 'system', used(0, 10));
  counter.countRequests(of, null, 3);
  await counter.flush();
  expect(log.warn).not.toHaveBeenCalled();
  const { rows } = await product.database.pool.query(
    `select value, tokens::int from usage_count where organization_id = $1 and dimension = 'model'`,
    [of.organizationId],
  );
  expect(rows).toHaveLength(maxValues + 1);
  expect(rows.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(460);
  expect(rows.find(({ value }) => value === 'm0')).toMatchObject({ tokens: 2 });
  expect(rows.find(({ value }) => value === 'other').tokens).toBeGreaterThan(100);
});
