import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { newHold } from '../hold.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { makeFlow } from './make-flow.ts';
import { endOf, inB, makeWorkflow } from './make-workflow.ts';

let product: StartedProduct;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  api = apiClient(product.process.api, (await product.createTenant({ plan: 'enterprise' })).testKey);
});
afterAll(() => product.close());

type Step = Record<string, unknown>;

/** Starts a run of these steps. @returns its id */
async function start(steps: Step[], input: unknown = null): Promise<string> {
  const id = await makeFlow(product, api, steps);
  const { body } = await api.post(`/api/v1/workflows/${id}/execute`, { input, async: true }, { 'x-api-variant': 'A' });
  return body.data.runId;
}

/** Executes these steps to their end. @returns the run's detail, in dialect B */
const execute = async (steps: Step[], input: unknown = null) => endOf(api, await start(steps, input));

const compute = (id: string, expression: string) => ({ id, type: 'transform', expression });
const ask = (id: string, prompt: string) => ({ id, type: 'prompt', prompt });

/** Waits until so many steps of this id are executed. */
const areRunning = (runId: string, stepId: string, count: number) =>
  until(`${count} steps ${stepId} run`, async () => {
    const running = `select from run_step where run_id = $1 and step_id = $2 and status = 'running'`;
    const { rowCount } = await product.database.pool.query(running, [runId.replace('run_', ''), stepId]);
    return rowCount === count;
  });

const stepOf = (run: { stepResults: { stepId: string }[] }, stepId: string) =>
  run.stepResults.find((step) => step.stepId === stepId) as Record<string, unknown> | undefined;

describe('parallel', () => {
  test('executes its branches and has their results', async () => {
    const run = await execute(
      [
        compute('before', '2'),
        {
          id: 'both',
          type: 'parallel',
          branches: [
            { id: 'left', steps: [compute('a', 'steps.before.output + 1'), compute('b', 'steps.a.output * 2')] },
            { id: 'right', steps: [ask('c', 'Say something about {{input}}')] },
          ],
        },
        compute('after', 'steps.both.output.results.left.output + 1'),
      ],
      'trees',
    );
    expect(run).toMatchObject({ status: 'completed', progress: 100 });
    expect(run.output.result).toBe(7);
    expect(Object.keys(run.output.steps)).toEqual(['before', 'both', 'after']);
    const { results, ...counts } = run.output.steps.both;
    expect(counts).toEqual({ total: 2, succeeded: 2, failed: 0 });
    expect(results.left).toEqual({
      id: 'left',
      status: 'completed',
      output: 6,
      error: null,
      durationMs: expect.any(Number),
    });
    expect(results.right.output).toEqual(expect.stringContaining('trees'));
  });

  test('fails with the first failure, and cancels what runs', async () => {
    const hold = newHold(product.database);
    const runId = await start([
      {
        id: 'both',
        type: 'parallel',
        branches: [
          { id: 'slow', steps: [ask('waits', 'sandbox:slow=600'), compute('never', '1')] },
          { id: 'bad', steps: [ask('first', hold.word), ask('fails', 'sandbox:fail')] },
        ],
      },
      compute('after', '1'),
    ]);
    // A step that never began would be skipped.
    await areRunning(runId, 'waits', 1);
    await hold.release();
    const run = await endOf(api, runId);
    expect(run).toMatchObject({ status: 'failed', error: { stepId: 'fails', code: 'service_unavailable' } });
    expect(stepOf(run, 'waits')).toMatchObject({ status: 'cancelled' });
    expect(stepOf(run, 'both')).toMatchObject({
      status: 'failed',
      output: {
        results: {
          slow: { status: 'cancelled', output: null },
          bad: { status: 'failed', error: { stepId: 'fails', code: 'service_unavailable' } },
        },
        total: 2,
        succeeded: 0,
        failed: 1,
      },
    });
  });

  test('settles: all branches run, and failures are in the results', async () => {
    const run = await execute(
      [
        {
          id: 'both',
          type: 'parallel',
          mode: 'settled',
          branches: [
            { id: 'bad', steps: [{ id: 'stop', type: 'fail', message: 'No {{input}}' }] },
            { id: 'good', steps: [compute('fine', '"yes"')] },
          ],
        },
      ],
      'luck',
    );
    expect(run.status).toBe('completed');
    expect(run.output.result.results).toMatchObject({
      bad: { status: 'failed', error: { stepId: 'stop', message: 'No luck', code: 'failed_by_step' } },
      good: { status: 'completed', output: 'yes' },
    });
  });

  test('keeps the first 2,000 characters of a message', async () => {
    const { error } = await execute([{ id: 'stop', type: 'fail', message: '{{input}}' }], 'x'.repeat(100_000));
    expect(error).toMatchObject({ stepId: 'stop', message: `${'x'.repeat(1_999)}…` });
  });
});

describe('map', () => {
  test('executes its steps for each item, in their order in the results', async () => {
    const run = await execute(
      [
        {
          id: 'each',
          type: 'map',
          items: 'input',
          steps: [ask('say', 'Say the word'), compute('size', 'size(steps.say.output) > 0')],
        },
      ],
      ['a', 'b', 'c'],
    );
    expect(run.status).toBe('completed');
    expect(run.output.result).toMatchObject({ outputs: [true, true, true], total: 3, succeeded: 3, failed: 0 });
  });

  test('of a thousand items writes them together, and of more it fails', async () => {
    const steps = [{ id: 'each', type: 'map', items: 'input', steps: [compute('one', '1')] }];
    const run = await execute(
      steps,
      Array.from({ length: 1_000 }, (_, index) => index),
    );
    expect(run.output.result.outputs).toHaveLength(1_000);
    const more = await execute(
      steps,
      Array.from({ length: 1_001 }, (_, index) => index),
    );
    expect(more.error).toMatchObject({ stepId: 'each', code: 'too_many_items' });
  });

  test('of calls has several at once, and tries again what fails for a time', async () => {
    const hold = newHold(product.database);
    const items = Array.from({ length: 8 }, (_, index) => index);
    const each = { id: 'each', type: 'map', items: 'input', concurrency: 8, steps: [ask('say', hold.word)] };
    const runId = await start([each], items);
    await areRunning(runId, 'say', 8);
    await hold.release();
    const run = await endOf(api, runId);
    expect(run.output.result).toMatchObject({ succeeded: 8 });
    // The last one begins before the first one ends.
    const { rows } = await product.database.pool.query(
      `select max(started_at) < min(finished_at) as together from run_step where run_id = $1 and step_id = 'say'`,
      [run.runId.replace('run_', '')],
    );
    expect(rows).toEqual([{ together: true }]);
    const again = await execute([
      { id: 'each', type: 'map', items: '[1, 2]', steps: [ask('say', 'sandbox:overloaded')] },
    ]);
    expect(again.output.result).toMatchObject({ succeeded: 2 });
  });

  test('of none completes', async () => {
    const run = await execute([{ id: 'each', type: 'map', items: 'input', steps: [compute('one', '1')] }], []);
    expect(run.output.result).toEqual({ results: [], outputs: [], total: 0, succeeded: 0, failed: 0 });
  });
});

describe('steps that leave the process', () => {
  test('use tools beside each other', async () => {
    const using = { id: 'say', type: 'prompt', prompt: 'sandbox:tool=memory_read_graph', tools: ['memory'] };
    const run = await execute([{ id: 'each', type: 'map', items: '[1, 2, 3]', steps: [using] }]);
    expect(run).toMatchObject({ status: 'completed', output: { result: { succeeded: 3 } } });
    const said = run.stepResults.filter(({ stepId }: { stepId: string }) => stepId === 'say');
    expect(said.map(({ toolCalls }: { toolCalls: unknown[] }) => toolCalls)).toEqual(
      Array.from({ length: 3 }, () => [{ name: 'memory_read_graph', args: {}, result: expect.any(String) }]),
    );
  });

  test('send requests with a key of their run and path', async () => {
    const request = {
      id: 'send',
      type: 'http',
      method: 'POST',
      url: 'https://example.com/{{input}}',
      body: { a: '{{input}}' },
    };
    const run = await execute([{ id: 'each', type: 'map', items: '[1]', steps: [request] }], 7);
    expect(run.status).toBe('completed');
    const [{ status, body }] = run.output.result.outputs;
    expect([status, body.url, body.body]).toEqual([200, 'https://example.com/7', { a: 7 }]);
    expect(body.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}\.each\.0\.send$/);
  });
});

describe('wait', () => {
  const waiting = (runId: string) =>
    until('the run waits', async () => {
      const { rows } = await product.database.pool.query(
        'select type, path from run_wait w join run r on r.id = w.run_id where w.run_id = $1 and r.waiting_since is not null and w.state = $2',
        [runId.replace('run_', ''), 'open'],
      );
      return rows.length > 0 && rows;
    });

  test('goes on when its time is over', async () => {
    const run = await execute([{ id: 'nap', type: 'wait', for: '2s' }, compute('after', 'steps.nap.output.until')]);
    expect(run.status).toBe('completed');
    expect(Date.parse(run.output.result)).toBeLessThan(Date.now());
    expect(run.duration).toBeGreaterThan(1_500);
  });

  test('of an event goes on with it, and with null when none comes and it may', async () => {
    const name = `order.paid_${randomUUID().slice(0, 8)}`;
    const event = { id: 'paid', type: 'event', event: name, match: 'event.data.order == input' };
    const runId = await start([event, compute('data', 'steps.paid.output.data.order')], 7);
    await waiting(runId);
    await api.post('/api/v1/events', { name, data: { order: 8 } }, inB);
    await api.post('/api/v1/events', { name, data: { order: 7 } }, inB);
    expect((await endOf(api, runId)).output.result).toBe(7);
    const none = await execute([{ id: 'paid', type: 'event', event: name, timeout: 1, onTimeout: 'continue' }]);
    expect(none).toMatchObject({ status: 'completed', output: { result: null } });
    const late = await execute([{ id: 'paid', type: 'event', event: name, timeout: 1 }]);
    expect(late.error).toMatchObject({ stepId: 'paid', code: 'event_timeout' });
  });

  test('of a time that is over goes on at once; of no time it fails', async () => {
    const run = await execute([{ id: 'nap', type: 'wait', until: '{{input}}' }], '2020-01-01T00:00:00Z');
    expect(run.output.result).toEqual({ until: '2020-01-01T00:00:00.000Z' });
    for (const time of ['tomorrow', '2020-01-01T00:00:00', '2020-02-30T00:00:00Z']) {
      const wrong = await execute([{ id: 'nap', type: 'wait', until: '{{input}}' }], time);
      expect(wrong.error).toMatchObject({ stepId: 'nap', code: 'invalid_payload' });
    }
  });

  test('is not waited for by a request that would end before', async () => {
    const execute = async (time: string) => {
      const id = await makeFlow(product, api, [{ id: 'nap', type: 'wait', for: time }]);
      return api.post(`/api/v1/workflows/${id}/execute`, { input: 1 }, { 'x-api-variant': 'A' });
    };
    const began = performance.now();
    const { status, body } = await execute('P1D');
    expect([status, body.data.status]).toEqual([202, 'RUNNING']);
    // A request waits for five minutes at most.
    expect(performance.now() - began).toBeLessThan(100_000);
    expect((await execute('1s')).status).toBe(200);
    await api.post(`/api/v1/runs/${body.data.runId}/cancel`, {}, inB);
  });

  test('holds neither a place nor a step that runs, and is cancelled with its run', async () => {
    const runId = await start([
      {
        id: 'both',
        type: 'parallel',
        branches: [
          { id: 'a', steps: [{ id: 'year', type: 'wait', for: 'P365D' }] },
          { id: 'b', steps: [{ id: 'day', type: 'wait', for: 86_400 }] },
        ],
      },
    ]);
    expect(await waiting(runId)).toHaveLength(2);
    expect((await api.get(`/api/v1/runs/${runId}`, inB)).body.data.status).toBe('running');
    const { status } = await api.post(`/api/v1/runs/${runId}/cancel`, {}, inB);
    expect(status).toBe(200);
    const run = await endOf(api, runId);
    expect(run.status).toBe('cancelled');
    expect(stepOf(run, 'year')).toMatchObject({ status: 'cancelled' });
  });
});

test('a retry takes over containers that completed with all that is inside them, and executes what failed anew', async () => {
  const each = {
    id: 'each',
    type: 'map',
    items: 'input',
    mode: 'settled',
    steps: [{ id: 'say', type: 'prompt', prompt: 'Say {{item}}' }],
  };
  const gate = { id: 'gate', type: 'http', url: 'https://crm.example.com/sandbox:fail', retry: { maxAttempts: 1 } };
  const { id } = await makeWorkflow(api, { steps: [each, gate] });
  const inA = { 'x-api-variant': 'A' };
  const input = ['yes', 'sandbox:refuse'];
  const { runId } = (await api.post(`/v1/workflows/${id}/execute`, { async: true, input }, inA)).body.data;
  const first = await endOf(api, runId);
  expect([first.status, first.error.stepId, first.output.steps.each.failed]).toEqual(['failed', 'gate', 1]);
  const retried = await api.post(`/v1/runs/${runId}/retry`, {}, inA);
  const second = await endOf(api, retried.body.data.runId);
  expect([second.status, second.error.stepId, second.tokensUsed ?? 0]).toEqual(['failed', 'gate', 0]);
  expect(second.output.steps.each).toEqual(first.output.steps.each);
  const shown = (steps: { stepId: string; path?: unknown; status: string; attempts: number }[]) =>
    steps.map(({ stepId, path, status }) => ({ stepId, path, status }));
  expect(shown(second.stepResults)).toEqual(shown(first.stepResults));
  expect(second.stepResults.map(({ attempts }: { attempts: number }) => attempts)).toEqual([0, 0, 0, 1]);
});
