import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { followEvents, type StreamedEvent } from '../event-stream.ts';
import { newHold } from '../hold.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { makeFlow } from './make-flow.ts';
import { endOf } from './make-workflow.ts';

let product: StartedProduct;
beforeAll(async () => {
  product = await sharedProduct();
});
afterAll(() => product.close());

const inA = { 'x-api-variant': 'A' };
const compute = (id: string, expression: string) => ({ id, type: 'transform', expression });
const ask = (id: string, prompt: string) => ({ id, type: 'prompt', prompt });

async function start(steps: Record<string, unknown>[], input: unknown = null): Promise<string> {
  const id = await makeFlow(product, product.api, steps);
  const { body } = await product.api.post(`/api/v1/workflows/${id}/execute`, { input, async: true }, inA);
  return body.data.runId;
}

async function eventsOf(runId: string, after?: number): Promise<StreamedEvent[]> {
  const found: StreamedEvent[] = [];
  const { events } = await followEvents(
    `${product.process.api}/v1/runs/${runId}/events`,
    product.tenant.testKey,
    after,
  );
  for await (const event of events) found.push(event);
  return found;
}

const place = ({ data }: StreamedEvent) => (data.path ?? (data.stepId ? [data.stepId] : [])).join('.');
const shown = (events: StreamedEvent[]) => events.map((event) => `${event.id} ${event.name} ${place(event)}`.trim());

test('the events of steps side by side have their paths, and the numbers that they had while they came', async () => {
  const hold = newHold(product.database);
  const branches = [
    { id: 'a', steps: [compute('first', '1'), { id: 'nap', type: 'wait', for: 2 }, compute('then', '2')] },
    { id: 'b', steps: [ask('slow', hold.word), ask('bad', 'sandbox:fail')] },
  ];
  const runId = await start([{ id: 'both', type: 'parallel', mode: 'settled', branches }, compute('last', '3')]);
  const reading = eventsOf(runId);
  // The branches overlap: one waits while the other one calls.
  await until('the wait has begun', async () => {
    const running = `select from run_step s join run_wait w using (run_id)
      where s.run_id = $1 and s.step_id = 'slow' and s.status = 'running'`;
    return (await product.database.pool.query(running, [runId])).rowCount === 1;
  });
  await hold.release();
  const live = await reading;
  expect(await endOf(product.api, runId)).toMatchObject({ status: 'completed' });
  const names = live.map((event) => `${event.name} ${place(event)}`.trim());
  expect(live.map(({ id }) => Number(id))).toEqual(live.map((_, index) => index + 1));
  expect([...names].sort()).toEqual(
    [
      'run.started',
      'run.completed',
      ...['both', 'both.a.first', 'both.a.nap', 'both.a.then', 'both.b.slow', 'both.b.bad', 'last'].map(
        (path) => `step.started ${path}`,
      ),
      ...['both', 'both.a.first', 'both.a.nap', 'both.a.then', 'both.b.slow', 'last'].map(
        (path) => `step.completed ${path}`,
      ),
      'step.failed both.b.bad',
      'step.waiting both.a.nap',
      'step.resumed both.a.nap',
    ].sort(),
  );
  const inOrder = (...some: string[]) => {
    const at = some.map((name) => names.indexOf(name));
    expect([some, [...at].sort((a, b) => a - b)]).toEqual([some, at]);
  };
  const nap = ['started', 'waiting', 'resumed', 'completed'].map((what) => `step.${what} both.a.nap`);
  inOrder('run.started', 'step.started both', 'step.completed both.a.first', ...nap, 'step.completed both.a.then');
  inOrder('step.completed both.a.then', 'step.completed both', 'step.started last', 'step.completed last');
  inOrder('step.completed both.b.slow', 'step.started both.b.bad', 'step.failed both.b.bad', 'step.completed both');
  expect(names.at(-1)).toBe('run.completed');
  const waits = live.find(({ name }) => name === 'step.waiting')!;
  expect(waits.data).toMatchObject({
    stepId: 'nap',
    path: ['both', 'a', 'nap'],
    type: 'wait',
    until: expect.any(String),
  });

  const again = await eventsOf(runId, 0);
  expect(shown(again)).toEqual(shown(live));
  expect(shown(await eventsOf(runId, 7))).toEqual(shown(live).slice(7));
  const end = await product.api.get(`/api/v1/runs/${runId}/events`, { 'last-event-id': String(live.length) });
  expect(end.status).toBe(204);
});

test('a flow of more steps than its detail shows has the events of all', async () => {
  const each = {
    id: 'each',
    type: 'map',
    items: 'input',
    steps: [compute('one', 'index')],
  };
  const runId = await start([each], Array(230).fill(1));
  const events = await eventsOf(runId);
  expect(events).toHaveLength(2 + 2 * 231);
  expect(new Set(shown(events)).size).toBe(events.length);
  expect(events.at(-2)).toMatchObject({ name: 'step.completed', data: { stepId: 'each' } });
  expect(shown(await eventsOf(runId, 300))).toEqual(shown(events).slice(300));
});

test('the events of a flow that has ended are written many at a time', async () => {
  const each = { id: 'each', type: 'map', items: 'input', steps: [compute('one', 'index')] };
  const runId = await start([each], Array(230).fill(1));
  await endOf(product.api, runId);
  const { hostname, port } = new URL(product.process.api);
  const socket = connect(Number(port), hostname).setEncoding('latin1');
  const head = `Host: ${hostname}\r\nAuthorization: Bearer ${product.tenant.testKey}`;
  socket.write(`GET /api/v1/runs/${runId}/events HTTP/1.1\r\n${head}\r\n\r\n`);
  let answer = '';
  for await (const part of socket) {
    answer += part;
    if (answer.endsWith('\r\n0\r\n\r\n')) break;
  }
  expect(answer.match(/^id: /gm)).toHaveLength(2 + 2 * 231);
  // Each write is a chunk of its own, and its size a line in hexadecimal digits.
  expect(answer.match(/^[0-9a-f]+\r$/gm)!.length).toBeLessThan(20);
});

test('a step that never began is skipped when one beside it fails', async () => {
  const items = `[${Array(30).fill(1).join(',')}]`;
  const steps = [ask('wait', 'sandbox:slow=600')];
  const branches = [
    { id: 'many', steps: [{ id: 'each', type: 'map', items, concurrency: 20, steps }] },
    {
      id: 'more',
      steps: [{ id: 'others', type: 'map', items, concurrency: 20, steps: [ask('late', 'sandbox:slow=600')] }],
    },
    {
      id: 'bad',
      steps: [
        { id: 'nap', type: 'event', event: 'all_have_begun' },
        { id: 'fails', type: 'fail', message: 'No.' },
      ],
    },
  ];
  const tenant = await product.createTenant({ plan: 'pro' });
  const { apiClient } = await import('../api-client.ts');
  const api = apiClient(product.process.api, tenant.testKey);
  const id = await makeFlow(product, api, [{ id: 'all', type: 'parallel', branches }]);
  const { body } = await api.post(`/api/v1/workflows/${id}/execute`, { input: null, async: true }, inA);
  const leaves = async (status: string) => {
    const { data } = (await api.get(`/api/v1/runs/${body.data.runId}/steps?status=${status}&limit=100`, inA)).body;
    return data.steps.filter(({ stepId }: { stepId: string }) => stepId === 'wait' || stepId === 'late');
  };
  await until('the plan’s 25 slots are held', async () => (await leaves('running')).length === 25);
  const sent = await until('the one beside them is let go', async () => {
    const { data } = (await api.post('/api/v1/events', { name: 'all_have_begun' })).body;
    return data.resumed === 1 && data;
  });
  expect(sent).toMatchObject({ complete: true });
  const run = await endOf(api, body.data.runId);
  expect(run.error).toMatchObject({ stepId: 'fails' });
  // The other 15 of the 40 steps that were ready never began.
  expect(await leaves('cancelled')).toHaveLength(25);
  const output = (path: string) =>
    api.get(`/api/v1/runs/${body.data.runId}/outputs/${path.split('.').at(-1)}?path=${path}`);
  const results: { status: string }[] = [];
  for (const path of ['all.many.each', 'all.more.others'])
    results.push(...(await output(path)).body.data.output.results);
  const withStatus = (status: string) =>
    results.filter((result: { status: string }) => result.status === status).length;
  expect([withStatus('cancelled'), withStatus('skipped')]).toEqual([25, 35]);
});
