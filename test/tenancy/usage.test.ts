import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { maxValues } from '../../src/tenancy/core/usage-groups.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { UseCounter } from '../../src/tenancy/usage/use-counter.ts';
import { personWith } from '../accounts/people.ts';
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
    return data.requests >= 4 && data.runs >= 2 && data;
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
  // What is used is written down every few seconds: some of this may come with the next time.
  const byWorkflow = await until('the use is written down', async () => {
    const [groups, kinds] = [await groupsOf('workflow'), await groupsOf('kind')];
    const [key] = (await groupsOf('key')).values();
    const isCounted = kinds.get('image')?.credits === image.body.data.creditsUsed && (key?.requests ?? 0) >= 6;
    if (!isCounted) return false;
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
  expect(keys[0]).toMatchObject({ group: expect.stringMatching(/^key_[0-9a-f]{32}$/), runs: 3, tokens });
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

test('a key has the tokens and credits of what it asked for, and none of what people and other keys did', async () => {
  await untilDayHasRoom(60);
  const tenant = await product.createTenant({ plan: 'enterprise' });
  const { organizationId, testKey } = tenant;
  const base = product.process.api;
  const [first, second] = await Promise.all(
    [1, 2].map(async () => createKey(product.database, { organizationId, environment: 'test' })),
  );
  const person = await personWith({ ...product, base, organizationId }, 'member');
  const [one, other] = [apiClient(base, first!.key), apiClient(base, second!.key)];
  const steps = [{ id: 'say', type: 'prompt', prompt: '{{input}}' }];
  const { id } = (await apiClient(base, testKey).post('/api/v1/workflows', { name: 'Shared', steps })).body.data;
  const run = async (client: typeof one, input: string) =>
    (await client.post(`/api/v1/workflows/${id}/execute`, { input })).body.data.tokensUsed as number;
  const branches = ['left', 'right'].map((id) => ({ id, steps: [{ id: `say_${id}`, type: 'prompt', prompt: id }] }));
  const flow = [{ id: 'both', type: 'parallel', branches }];
  const made = await apiClient(base, testKey).post('/api/v1/workflows', { name: 'Branches', steps: flow });
  const ofOne = (await run(one, 'a')) + (await run(one, 'b c'));
  const ofOther = await run(other, 'd');
  const ofPerson = await run(person.api, 'e f g h');
  expect(ofPerson).toBeGreaterThan(0);
  const branched = await one.post(`/api/v1/workflows/${made.body.data.id}/execute`, { input: 'i' });
  expect(branched.status).toBe(200);
  const batch = await other.post(`/api/v1/workflows/${id}/batch`, { items: [{ input: 'j' }, { input: 'k' }] });
  expect(batch.status).toBe(202);
  const image = (await one.post('/api/studio/generate', { prompt: 'A lighthouse' })).body.data.creditsUsed as number;
  const message = await other.post('/api/chat', { messages: [{ role: 'user', content: 'Hello' }] });
  expect(message.status).toBe(200);
  const groups = await until('the use of both keys is written down', async () => {
    const { data } = (await other.get('/api/v1/usage?groupBy=key')).body;
    const found = new Map<string, Group>(data.groups.map((group: Group) => [group.group, group]));
    const [used, usedByOther] = [found.get(first!.id), found.get(second!.id)];
    const tokensOfOne = ofOne + branched.body.data.tokensUsed;
    if (!used || !usedByOther) return false;
    const isOver = used.tokens === tokensOfOne && used.credits === image && usedByOther.runs === 3;
    if (!isOver || !(usedByOther.credits! > 0) || !(usedByOther.tokens! > ofOther)) return false;
    // What is no key's is the person's.
    const [day] = (await other.get('/api/v1/usage?groupBy=day')).body.data.groups;
    const ofKeys = [...found.values()].reduce((sum, { tokens }) => sum + tokens!, 0);
    return day.tokens - ofKeys === ofPerson && found;
  });
  expect(groups.get(first!.id)).toMatchObject({ runs: 3, credits: image });
});

test('a tenant’s use has a bounded number of groups in a day', async () => {
  await untilDayHasRoom(30);
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

test('a process that stops waits for the counts that it is writing already', async () => {
  const tenant = await product.createTenant();
  const of = { organizationId: organizationIds.parse(tenant.organizationId)!, environment: 'test' as const };
  const counter = new UseCounter(product.database, { warn: jest.fn() } as never);
  counter.countRequests(of, null, 3);
  let isWritten = false;
  void counter.flush().then(() => {
    isWritten = true;
  });
  await counter.stop();
  expect(isWritten).toBe(true);
});

test('a model whose name is too long for a counter keeps no other from being counted', async () => {
  const tenant = await product.createTenant();
  const of = { organizationId: organizationIds.parse(tenant.organizationId)!, environment: 'test' as const };
  const log = { warn: jest.fn() };
  const counter = new UseCounter(product.database, log as never);
  // As long as the name of a step's model may be, in characters.
  counter.add(of, 'system', [{ by: 'model', value: `a${'🚀'.repeat(199)}`, tokens: 1 }]);
  counter.countRequests(of, null, 3);
  await counter.flush();
  expect(log.warn).not.toHaveBeenCalled();
  const { rows } = await product.database.pool.query(
    'select dimension, value, requests::int, tokens::int from usage_count where organization_id = $1 order by dimension',
    [of.organizationId],
  );
  expect(rows).toEqual([
    { dimension: 'day', value: '', requests: 3, tokens: 0 },
    { dimension: 'hour', value: '', requests: 3, tokens: 0 },
    { dimension: 'model', value: `a${'🚀'.repeat(99)}\ufffd`, requests: 0, tokens: 1 },
  ]);
});
