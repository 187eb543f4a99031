import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ApiClient } from '../api-client.ts';
import { type Hold, newHold } from '../hold.ts';
import { sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { endOf, inB, makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
/** Keeps runs under way until all tests of this file are over. */
let untilTheEnd: Hold;
beforeAll(() => {
  untilTheEnd = newHold(product.database);
});
afterAll(async () => {
  await untilTheEnd.release();
  await product.close();
});

const inA = { 'x-api-variant': 'A' };
const slowly = (seconds: number) => [{ id: 'say', type: 'prompt', prompt: `sandbox:slow=${seconds}` }];
const start = async (id: string, body: object = {}) =>
  (await api.post(`/api/v1/workflows/${id}/execute`, { async: true, ...body }, inA)).body.data;
const detail = async (runId: string) => (await api.get(`/api/v1/runs/${runId}`, inB)).body.data;
const statusOf = async (runId: string) => (await detail(runId)).status;
const begun = (runId: string) => until('the run has begun', async () => (await statusOf(runId)) !== 'queued');
const patch = (path: string, body: object) => api.request('PATCH', path, body);

describe('a delayed run', () => {
  test('is moved while it waits, and not afterwards', async () => {
    const { id } = await makeWorkflow(api);
    const { runId } = await start(id, { startAt: new Date(Date.now() + 3_600_000).toISOString(), expiresIn: '1h' });
    const moved = await patch(`/api/v1/runs/${runId}`, { startAt: new Date().toISOString(), tags: ['moved'] });
    expect(moved.status).toBe(200);
    expect(await endOf(api, runId)).toMatchObject({ status: 'completed', tags: ['moved'] });
    const late = await patch(`/api/v1/runs/${runId}`, { startAt: new Date().toISOString() });
    expect([late.status, late.body.error.code]).toEqual([409, 'conflict']);
    const described = await patch(`/api/v1/runs/${runId}`, { metadata: { ticket: 7 } });
    expect(described.body.data.metadata).toEqual({ ticket: 7 });
  });

  test.each([
    [{ delay: 1, startAt: '2026-01-01T00:00:00Z' }, 'delay'],
    [{ startAt: '2199-01-01T00:00:00Z' }, 'startAt'],
    [{ delay: '367d' }, 'delay'],
    [{ delay: -1 }, 'delay'],
    [{ tags: Array.from({ length: 11 }, (_, n) => `t${n}`) }, 'tags'],
    [{ tags: ['with space'] }, 'tags.0'],
    [{ priority: 6 }, 'priority'],
  ])('is refused with %j', async (body, path) => {
    const { id } = await makeWorkflow(api);
    const answer = await api.post(`/api/v1/workflows/${id}/execute`, body, inA);
    expect([answer.status, answer.body.error.details.errors[0].path]).toEqual([400, path]);
  });
});

test('metadata has at most 16 KiB', async () => {
  const { id } = await makeWorkflow(api);
  const metadata = { long: 'x'.repeat(17_000) };
  const { status, body } = await api.post(`/api/v1/workflows/${id}/execute`, { metadata }, inA);
  expect([status, body.error.details.errors[0].path]).toEqual([400, 'metadata']);
});

describe('concurrency', () => {
  const limited = (concurrency: object, steps = slowly(0.3)) =>
    makeWorkflow(api, { steps, concurrency: { limit: 1, strategy: 'queue', ...concurrency } });
  const held = ({ word }: Hold) => [{ id: 'say', type: 'prompt', prompt: word }];

  test('queues what is over the limit, in the order of creation', async () => {
    const hold = newHold(product.database);
    const { id } = await limited({ limit: 2 }, held(hold));
    const runs: string[] = [];
    for (let n = 0; n < 6; n++) runs.push((await start(id)).runId);
    expect(await detail(runs[5]!)).toMatchObject({ status: 'queued', queuedFor: 'concurrency' });
    await hold.release();
    const ended = await Promise.all(runs.map((runId) => endOf(api, runId)));
    expect(ended.map(({ status }) => status)).toEqual(runs.map(() => 'completed'));
    const times = ended.map(({ startedAt, completedAt }) => [Date.parse(startedAt), Date.parse(completedAt)] as const);
    for (const [at] of times) {
      const open = times.filter(([from, to]) => from <= at && at < to);
      expect(open.length).toBeLessThanOrEqual(2);
    }
    // Two that are let in together may begin in either order, and neither before those that were let in earlier.
    for (const [index, [from]] of times.entries()) {
      if (index >= 2) expect(from).toBeGreaterThanOrEqual(times[index - 2]![0]);
    }
  });

  test('lets runs of a higher priority go first', async () => {
    const hold = newHold(product.database);
    const { id } = await limited({}, held(hold));
    const first = await start(id);
    const last = await start(id, { priority: 5 });
    const next = await start(id, { priority: 1 });
    await hold.release();
    const [, after, before] = await Promise.all([first, last, next].map(({ runId }) => endOf(api, runId)));
    expect(Date.parse(before.startedAt)).toBeLessThan(Date.parse(after.startedAt));
  });

  test('holds for each value of its key, and refuses a run without one', async () => {
    const { id } = await limited({ key: 'input.customer' }, held(untilTheEnd));
    const [a, b] = [await start(id, { input: { customer: 'a' } }), await start(id, { input: { customer: 'b' } })];
    const second = await start(id, { input: { customer: 'a' } });
    await Promise.all([begun(a.runId), begun(b.runId)]);
    expect(await detail(second.runId)).toMatchObject({ queuedFor: 'concurrency' });
    for (const input of [{}, { customer: '' }, { customer: 7 }]) {
      const { status, body } = await api.post(`/api/v1/workflows/${id}/execute`, { input }, inA);
      expect([status, body.error.code, body.error.details.errors[0].path]).toEqual([
        400,
        'expression_error',
        'concurrency.key',
      ]);
    }
  });

  test('skips runs with `skip`', async () => {
    const { id, wf } = await limited({ strategy: 'skip' }, held(untilTheEnd));
    await start(id);
    expect(await start(id)).toEqual({ runId: null, status: 'SKIPPED', reason: 'concurrency' });
    const triggered = await api.post(`/api/v1/webhooks/${wf}`, {});
    expect([triggered.status, triggered.body.data]).toEqual([200, { runId: null, status: 'skipped' }]);
    const listed = await api.get(`/api/v1/workflows/${id}/runs`, inA);
    expect(listed.body.data.pagination.total).toBe(1);
  });

  test('cancels the oldest run with `cancel_running`', async () => {
    const { id } = await limited({ strategy: 'cancel_running' }, held(untilTheEnd));
    const first = await start(id);
    await begun(first.runId);
    const second = await start(id);
    const superseded = await endOf(api, first.runId);
    expect(superseded).toMatchObject({ status: 'cancelled', error: { code: 'superseded' } });
    await begun(second.runId);
    expect(await statusOf(second.runId)).toBe('running');
  });

  test('never lets more runs begin than its limit, whatever happens at the same time', async () => {
    const { id } = await limited({ limit: 3 }, slowly(0.05));
    const started = await Promise.all(Array.from({ length: 40 }, () => start(id)));
    const counted: number[] = [];
    const watch = async () => {
      const { rows } = await product.database.pool.query(
        `select count(*)::int as held from run where automation_id = $1 and slot = 'held' and status in ('queued', 'running')`,
        [id],
      );
      counted.push(rows[0].held);
    };
    const cancelled = started.slice(10, 20).map(({ runId }) => api.post(`/api/v1/runs/${runId}/cancel`));
    await until('all have ended', async () => {
      await watch();
      const { rows } = await product.database.pool.query(
        `select count(*)::int as open from run where automation_id = $1 and status in ('queued', 'running')`,
        [id],
      );
      return rows[0].open === 0;
    });
    await Promise.all(cancelled);
    expect(Math.max(...counted)).toBeLessThanOrEqual(3);
    // At one moment: runs of earlier tests may begin meanwhile.
    const { rows } = await product.database.pool.query(
      `with of as (select organization_id from automation where id = $1)
       select (select coalesce(sum(runs), 0)::int from queued_total where organization_id = of.organization_id
                  and environment = 'test') as counted,
              (select count(*)::int from run where queued_for is not null and organization_id = of.organization_id
                  and environment = 'test') as waiting
         from of`,
      [id],
    );
    expect(rows[0].counted).toBe(rows[0].waiting);
  });

  test('lets what waits begin when the limit is raised', async () => {
    const { id } = await limited({}, held(untilTheEnd));
    await start(id);
    const { runId } = await start(id);
    expect(await statusOf(runId)).toBe('queued');
    await patch(`/api/v1/workflows/${id}`, { concurrency: { limit: 2, strategy: 'queue' } });
    await begun(runId);
  });

  test.each([
    [{ limit: 0, strategy: 'queue' }, 'concurrency.limit'],
    [{ limit: 1, strategy: 'queue', key: 'input +' }, 'concurrency.key'],
    [{ limit: 1, strategy: 'queue', key: 'steps.a.output' }, 'concurrency.key'],
  ])('is refused as %j', async (concurrency, path) => {
    const { status, body } = await api.post('/api/v1/workflows', { name: 'No', concurrency });
    expect([status, body.error.details.errors[0].path]).toEqual([400, path]);
  });
});

describe('a paused workflow', () => {
  test('accepts runs, which begin when it is resumed', async () => {
    const { id } = await makeWorkflow(api);
    expect((await api.post(`/api/v1/workflows/${id}/pause`)).body.data.isPaused).toBe(true);
    const runs = await Promise.all([start(id), start(id), start(id, { delay: 0.1 })]);
    expect(runs.map(({ status }) => status)).toEqual(['PENDING', 'PENDING', 'PENDING']);
    await until('the delay is over', async () => (await detail(runs[2].runId)).queuedFor === 'paused');
    const waited = await api.post(`/api/v1/workflows/${id}/execute`, { input: 'x' }, inA);
    expect([waited.status, waited.body.data.status]).toEqual([202, 'PENDING']);
    expect((await api.post(`/api/v1/workflows/${id}/resume`)).body.data.isPaused).toBe(false);
    for (const { runId } of runs) expect(await endOf(api, runId)).toMatchObject({ status: 'completed' });
  });

  test('lets runs expire', async () => {
    const { id } = await makeWorkflow(api);
    await api.post(`/api/v1/workflows/${id}/pause`);
    const { runId } = await start(id, { expiresIn: 0.5 });
    expect(await endOf(api, runId)).toMatchObject({ status: 'cancelled', error: { code: 'expired' } });
  });
});

test('a run that executes for longer than its workflow allows fails', async () => {
  const { id } = await makeWorkflow(api, { steps: slowly(30), maxDurationSeconds: 1 });
  const { runId } = await start(id);
  const ended = await endOf(api, runId);
  expect(ended).toMatchObject({ status: 'failed', error: { code: 'timeout', stepId: 'say' } });
});

test('time in which a run waits, or has not begun, is none in which it executes', async () => {
  const wait = { id: 'nap', type: 'wait', for: 6 };
  const last = { id: 'last', type: 'transform', expression: '1' };
  const { id } = await makeWorkflow(api, { steps: [wait, last], maxDurationSeconds: 5 });
  // On a busy machine a run may execute for five seconds: then another one is started.
  await until('a run ends in its time', async () => {
    const { runId } = await start(id, { delay: 5.5 });
    const ended = await endOf(api, runId);
    if (ended.status === 'completed') return ended;
    expect(ended.error.code).toBe('timeout');
    return false;
  });
});

test('runs of a schedule and a trigger show what started them, and a secret alone sets nothing', async () => {
  const { id } = await makeWorkflow(api);
  const triggered = await api.post(`/api/v1/webhooks/${id}?tags=a,b&priority=1`, {});
  expect(await detail(triggered.body.data.runId)).toMatchObject({
    triggeredBy: { type: 'webhook' },
    tags: ['a', 'b'],
    priority: 1,
  });
  const { secret } = (await api.post(`/api/v1/workflows/${id}/webhook-secret`)).body.data;
  const anonymous = await fetch(`${product.process.api}/api/v1/webhooks/${id}?tags=a`, {
    method: 'POST',
    headers: { 'X-Webhook-Secret': secret },
  });
  expect(anonymous.status).toBe(400);
});
