import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import { asOwner } from '../as-owner.ts';
import { makeFlow } from '../automation/make-flow.ts';
import { until } from '../until.ts';
import { type MeasuredProduct, startMeasured } from './measured-product.ts';
import { exchange } from './requests.ts';

// What a flow of one organization may cost the others.
jest.setTimeout(240_000);

let product: MeasuredProduct;
beforeAll(async () => {
  product = await startMeasured();
});
afterAll(() => product.close());

const list = (length: number) => Array.from({ length }, (_, index) => index);
const headersOf = () => ({ authorization: `Bearer ${product.testKey}`, 'content-type': 'application/json' });
const post = (path: string, body: unknown) =>
  exchange(product.process.api, { method: 'POST', path, body: JSON.stringify(body), headers: headersOf() });

async function start(steps: Record<string, unknown>[], input: unknown): Promise<string> {
  const id = await makeFlow(product, product.api, steps);
  const { body } = await product.api.post(`/api/v1/workflows/${id}/execute`, { input, async: true });
  return runIds.parse(body.data.runId)!;
}
const untilWaiting = (runId: string) =>
  until(
    'the run waits',
    async () => {
      const { rows } = await product.database.pool.query(
        'select from run where id = $1 and waiting_since is not null',
        [runId],
      );
      return rows.length > 0;
    },
    120_000,
  );
const events = 'POST /api/v1/events';

test('waits that look at a large input cost an event no more than the input', async () => {
  const branches = list(20).map((index) => ({
    id: `b${index}`,
    steps: [{ id: `wait${index}`, type: 'event', event: 'large', match: 'input.startsWith("y") && event.data.n == 1' }],
  }));
  const steps = [{ id: 'all', type: 'parallel', branches, concurrency: 20 }];
  for (const text of list(5)) await untilWaiting(await start(steps, 'x'.repeat(900_000) + text));
  await product.walk.send({ door: events, name: 'a hundred waits that look at large inputs' }, () =>
    post('/api/v1/events', { name: 'large', data: { n: 1 } }),
  );
  expect(product.walk.takeExcesses()).toEqual([]);
});

test('waits of one run that look at its large input, each in its own way, have it sent once to where they are matched', async () => {
  const branches = list(20).map((index) => ({
    id: `b${index}`,
    steps: list(4).map((wait) => ({
      id: `wait${index}_${wait}`,
      type: 'event',
      event: 'looked.at',
      match: `input.startsWith("y${index}") && event.data.n == 1`,
    })),
  }));
  const steps = [{ id: 'all', type: 'parallel', branches, concurrency: 20 }];
  for (const text of list(3)) await untilWaiting(await start(steps, 'x'.repeat(900_000) + text));
  await product.walk.send({ door: events, name: 'sixty different looks at large inputs' }, () =>
    post('/api/v1/events', { name: 'looked.at', data: { n: 1 } }),
  );
  expect(product.walk.takeExcesses()).toEqual([]);
});

test('an expression that repeats a large input makes no result of many megabytes', async () => {
  const repeated = (times: number) =>
    `[${list(times)
      .map(() => 'input')
      .join()}]`;
  const inputs = {
    'a text 50 times': ['x'.repeat(900_000), 50],
    'thousands of lists 60 times': [list(9_000).map(() => []), 60],
  };
  for (const [name, [input, times]] of Object.entries(inputs)) {
    const steps = [{ id: 't', type: 'transform', expression: repeated(times as number) }];
    const { body } = await product.api.post('/api/v1/workflows', { name, steps });
    const path = `/api/v1/workflows/${body.data.id}/execute`;
    await product.walk.send({ door: 'POST /api/v1/workflows/{id}/execute', name }, async () => {
      const { answerBytes = 0 } = await post(path, { input });
      // A run that fails is a 500 too.
      return { answerBytes };
    });
  }
  expect(product.walk.takeExcesses()).toEqual([]);
});

test('a map whose results are too large together does not read them', async () => {
  const steps = [
    {
      id: 'each',
      type: 'map',
      items: 'input.items',
      concurrency: 20,
      steps: [{ id: 't', type: 'transform', expression: 'input.text' }],
    },
  ];
  const { body } = await product.api.post('/api/v1/workflows', { name: 'Large', steps });
  const input = { items: list(1_000), text: 'x'.repeat(30_000) };
  let error: { code: string } | undefined;
  await product.walk.send(
    { door: 'POST /api/v1/workflows/{id}/execute', name: 'a map of 30 MB of outputs' },
    async () => {
      const { body: sent } = await product.api.post(`/api/v1/workflows/${body.data.id}/execute`, {
        input,
        async: true,
      });
      const path = `/api/v1/runs/${sent.data.runId}`;
      const ended = await until('it ends', async () => {
        const { data } = (await product.api.get(path, { 'x-api-variant': 'B' })).body;
        return data?.status === 'failed' && data;
      });
      error = ended.error;
      return {};
    },
  );
  expect(error).toMatchObject({ code: 'output_too_large' });
  // The run itself has a thousand steps.
  expect(product.walk.takeExcesses().filter((excess) => /stretchMs/.test(excess))).toEqual([]);
});

/** What others wait for while work goes on that takes long. */
const stretches = () => product.walk.takeExcesses().filter((excess) => /stretchMs/.test(excess));
const endOfRun = (runId: string, status: string) =>
  until(
    'it ends',
    async () => {
      const { data } = (await product.api.get(`/api/v1/runs/${runId}`, { 'x-api-variant': 'B' })).body;
      return data.status === status && data;
    },
    180_000,
  );

test('a map of a thousand maps of a thousand items ends at the last step that a run may execute', async () => {
  const map = (id: string, step: object) => ({ id, type: 'map', items: 'input', concurrency: 20, steps: [step] });
  const steps = [map('rows', map('cells', { id: 't', type: 'transform', expression: 'index' }))];
  const { body } = await product.api.post('/api/v1/workflows', { name: 'A million', steps });
  const path = `/api/v1/workflows/${body.data.id}/execute`;
  let error: { code: string } | undefined;
  await product.walk.send({ door: 'POST /api/v1/workflows/{id}/execute', name: 'a map of maps' }, async () => {
    const sent = await product.api.post(path, { input: list(1_000), async: true });
    ({ error } = await endOfRun(sent.body.data.runId, 'failed'));
    return {};
  });
  expect(error).toMatchObject({ code: 'too_many_steps' });
  expect(stretches()).toEqual([]);
}, 600_000);

test('workflows that start each other by the ends of their runs come to an end', async () => {
  const triggers = [{ event: 'workflow.run.completed' }];
  const ids: string[] = [];
  for (const _ of list(4)) {
    const id = await makeFlow(product, product.api, [{ id: 't', type: 'transform', expression: '1' }]);
    expect((await product.api.request('PUT', `/api/v1/workflows/${id}/triggers`, { triggers })).status).toBe(200);
    ids.push(id);
  }
  const count = async (sql: string) => (await product.database.pool.query(sql, [ids])).rows[0].count as number;
  const runs = () => count('select count(*)::int as count from run where automation_id = any($1)');
  const left = `
    select ((select count(*) from workflow_event where not is_complete) + (select count(*) from event_start)
          + (select count(*) from run where automation_id = any($1) and finished_at is null))::int as count`;
  let expected = 0;
  await product.walk.send({ door: events, name: 'in a loop' }, async () => {
    await post(`/api/v1/workflows/${ids[0]}/execute`, { input: 1 });
    // Each starts those that did not cause it: 3, of which each starts 2, and so on.
    expected += 1 + 3 + 3 * 2 + 3 * 2;
    await until('nothing is left', async () => (await runs()) >= expected && (await count(left)) === 0);
    return {};
  });
  expect(await runs()).toBe(expected);
  expect(stretches()).toEqual([]);
  for (const id of ids) await product.api.request('PUT', `/api/v1/workflows/${id}/triggers`, { triggers: [] });
}, 300_000);

test('filters that look at a list in two loops are given up beside the main thread', async () => {
  const filter = (limit: number) => `event.data.l.all(x, event.data.l.all(y, x + y > -${limit}))`;
  const triggers = list(10).map((limit) => ({ event: 'costly.filter', filter: filter(limit + 1) }));
  const id = await makeFlow(product, product.api, [{ id: 't', type: 'transform', expression: '1' }]);
  const path = `/api/v1/workflows/${id}/triggers`;
  expect((await product.api.request('PUT', path, { triggers })).status).toBe(200);
  await product.walk.send({ door: events, name: 'ten filters of two loops' }, () =>
    post('/api/v1/events', { name: 'costly.filter', data: { l: list(10_000) } }),
  );
  const reasons = (await product.api.get(path)).body.data.triggers.map(
    (one: { lastSkipped: { reason: string } | null }) => one.lastSkipped?.reason,
  );
  expect(reasons).toEqual(triggers.map(() => 'expression_error'));
  expect(product.walk.takeExcesses()).toEqual([]);
  await product.api.request('PUT', path, { triggers: [] });
});

test('a bulk action of ten thousand runs costs its request little, and does its work between others', async () => {
  const id = await makeFlow(product, product.api, [{ id: 't', type: 'transform', expression: '1' }]);
  const { body } = await product.api.post(`/api/v1/workflows/${id}/execute`, { input: 1 });
  // On a busy machine, thousands of rows take longer than a statement of the product may.
  await asOwner(
    product,
    `insert into run (id, organization_id, environment, automation_id, definition_id, number, status, variables,
                      finished_steps, total_steps, correlation_id, created_at, finished_at)
     select uuidv7(), organization_id, environment, automation_id, definition_id, 1 + n, 'failed', '{}', 1, 1, 'x', now(), now()
       from run, generate_series(1, 9999) n where id = '${runIds.parse(body.data.runId)}'`,
  );
  await product.database.pool.query('update automation set total_runs = 10000 where id = $1', [id]);
  const [from, to] = [new Date(Date.now() - 3_600_000), new Date(Date.now() + 3_600_000)];
  const asked = { action: 'cancel', filter: { from, to, workflowId: id } };
  const door = 'POST /api/v1/bulk-actions';
  await product.walk.send({ door, name: 'ten thousand runs, counted' }, () =>
    post('/api/v1/bulk-actions', { ...asked, dryRun: true }),
  );
  expect(product.walk.takeExcesses()).toEqual([]);
  await product.walk.send({ door, name: 'ten thousand runs' }, async () => {
    const created = await product.api.post('/api/v1/bulk-actions', asked);
    expect(created.body.data).toMatchObject({ total: 10_000 });
    await until('it is done', async () => {
      const { data } = (await product.api.get(`/api/v1/bulk-actions/${created.body.data.id}`)).body;
      return data.status === 'completed' && data.counts.skipped === 10_000;
    });
    return {};
  });
  expect(stretches()).toEqual([]);
}, 300_000);
