import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import { makeFlow } from '../automation/make-flow.ts';
import { until } from '../until.ts';
import { type MeasuredProduct, startMeasured } from './measured-product.ts';
import { exchange } from './requests.ts';

// What a flow of one organization may cost the others.
jest.setTimeout(100_000);

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
      const ended = await until(
        'it ends',
        async () => {
          const { data } = (await product.api.get(path, { 'x-api-variant': 'B' })).body;
          return data.status === 'failed' && data;
        },
        90_000,
      );
      error = ended.error;
      return {};
    },
  );
  expect(error).toMatchObject({ code: 'output_too_large' });
  // The run itself has a thousand steps.
  expect(product.walk.takeExcesses().filter((excess) => /stretchMs/.test(excess))).toEqual([]);
});
