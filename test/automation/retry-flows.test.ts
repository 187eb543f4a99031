import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { followEvents } from '../event-stream.ts';
import { newHold } from '../hold.ts';
import { httpServer, type LoopbackServer } from '../loopback-server.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { creditsOf } from '../studio/files.ts';
import { until } from '../until.ts';
import { makeFlow } from './make-flow.ts';
import { endOf, inB } from './make-workflow.ts';

let product: StartedProduct;
/** Sends requests to `server`. */
let live: ApiClient;
let liveKey: string;
let sandbox: ApiClient;
let server: LoopbackServer;
/** Requests that came: `<method> <path>`, and their Idempotency-Key. */
let received: { asked: string; key: string }[] = [];
/** How the server answers, by what is asked. */
const answers = new Map<string, (response: ServerResponse) => void>();

beforeAll(async () => {
  product = await sharedProduct('webhooks');
  const tenant = await product.createTenant({ plan: 'enterprise' });
  liveKey = tenant.liveKey;
  live = apiClient(product.process.api, liveKey);
  sandbox = apiClient(product.process.api, tenant.testKey);
  server = await httpServer((request, response) => {
    const asked = `${request.method} ${request.url}`;
    received.push({ asked, key: String(request.headers['idempotency-key']) });
    const answer = answers.get(asked) ?? ((one) => one.setHeader('content-type', 'application/json').end('{}'));
    answer(response);
  });
});
afterAll(async () => {
  await product.close();
  await server.close();
});

beforeEach(() => {
  received = [];
  answers.clear();
});

type Step = Record<string, unknown>;
type Body = Record<string, unknown>;
const inA = { 'x-api-variant': 'A' };

async function start(api: ApiClient, steps: Step[], input: unknown = null): Promise<string> {
  const id = await makeFlow(product, api, steps);
  return (await api.post(`/api/v1/workflows/${id}/execute`, { input, async: true }, inA)).body.data.runId;
}

/** Retries a run. @returns the detail of the new one at its end */
async function retried(api: ApiClient, runId: string, body: Body = {}, headers = inA) {
  received = [];
  const { status, body: answer } = await api.post(`/v1/runs/${runId}/retry`, body, headers);
  if (status !== 200) throw new Error(JSON.stringify(answer));
  return endOf(api, answer.data.runId);
}

const send = (id: string, path: string, more: Step = {}): Step => ({
  id,
  type: 'http',
  url: `http://127.0.0.1:${server.port}/${path}`,
  retry: { maxAttempts: 1 },
  ...more,
});
const refuse = (response: ServerResponse) => void response.writeHead(500).end('no');
const lose = (response: ServerResponse) => void response.destroy();
const asked = () => received.map((one) => one.asked.replace('GET /', '')).sort();
const uuidOf = (id: string) =>
  id.replace(/^run_/, '').replace(/^(.{8})-?(.{4})-?(.{4})-?(.{4})-?(.{12})$/, '$1-$2-$3-$4-$5');

const each = (more: Step = {}, ...further: Step[]): Step => ({
  id: 'each',
  type: 'map',
  items: 'input',
  ...more,
  steps: [send('first', 'first/{{item}}'), send('second', 'second/{{item}}'), ...further],
});

const shownOf = (run: { stepResults: { stepId: string; path?: unknown[]; attempts: number; status: string }[] }) =>
  run.stepResults.map(({ stepId, path, attempts }) => `${path?.join('.') ?? stepId} ${attempts}`);

test('a retry reuses what completed within a map that failed, and executes the rest of it and what follows anew', async () => {
  answers.set('GET /second/1', refuse);
  const runId = await start(
    live,
    [send('before', 'before'), each({ concurrency: 1 }), send('after', 'after')],
    [0, 1, 2],
  );
  const first = await endOf(live, runId);
  expect([first.status, first.error.stepId]).toEqual(['failed', 'second']);
  answers.clear();
  const run = await retried(live, runId);
  expect([run.status, run.progress, asked()]).toEqual(['completed', 100, ['after', 'first/2', 'second/1', 'second/2']]);
  const { results, ...counts } = run.output.steps.each;
  expect(counts).toMatchObject({ total: 3, succeeded: 3, failed: 0 });
  expect(results[0]).toEqual(
    first.stepResults.find(({ stepId }: { stepId: string }) => stepId === 'each').output.results[0],
  );
  expect(shownOf(run)).toEqual([
    'before 0',
    'each 1',
    'each.0.first 0',
    'each.0.second 0',
    'each.1.first 0',
    'each.1.second 1',
    'each.2.first 1',
    'each.2.second 1',
    'after 1',
  ]);
  // What is taken over has no events of its own, and the map has.
  const { events } = await followEvents(`${product.process.api}/v1/runs/${run.runId}/events`, liveKey);
  const started: string[] = [];
  for await (const { name, data } of events)
    if (name === 'step.started') started.push(data.path?.join('.') ?? data.stepId);
  expect(started.sort()).toEqual(['after', 'each', 'each.1.second', 'each.2.first', 'each.2.second']);
});

test('`path` names the step to begin with: completed items and the steps before it are reused', async () => {
  answers.set('GET /second/1', refuse);
  answers.set('GET /second/2', refuse);
  const runId = await start(live, [each({ mode: 'settled' }), send('after', 'after')], [0, 1, 2]);
  const first = await endOf(live, runId);
  expect([first.status, first.output.steps.each.failed]).toEqual(['completed', 2]);
  answers.clear();
  for (const path of ['each.1.second', ['each', 1, 'second'], ['each', '1', 'second']]) {
    for (const headers of [inA, inB]) {
      const run = await retried(live, runId, { fromStep: 'second', path }, headers);
      expect([run.status, asked()]).toEqual(['completed', ['after', 'first/2', 'second/1', 'second/2']]);
      expect(run.output.steps.each).toMatchObject({ succeeded: 3, failed: 0 });
    }
  }
  // One that completed can be named too.
  const again = await retried(live, runId, { fromStep: 'first', path: 'each.0.first' });
  expect(asked()).toEqual(['after', 'first/0', 'first/1', 'first/2', 'second/0', 'second/1', 'second/2']);
  expect(again.status).toBe('completed');
  // The container itself, named without a path, begins anew as a whole.
  await retried(live, runId, { fromStep: 'each' });
  expect(received).toHaveLength(7);
});

test('branches that completed are reused, in containers within others too', async () => {
  const inner = each({ id: 'inner' });
  const both = {
    id: 'both',
    type: 'parallel',
    mode: 'settled',
    branches: [
      { id: 'left', steps: [send('fine', 'fine')] },
      { id: 'right', steps: [send('early', 'early'), inner, send('late', 'late')] },
    ],
  };
  answers.set('GET /second/0', refuse);
  const runId = await start(live, [both], [0, 1]);
  const first = await endOf(live, runId);
  expect(first.output.steps.both).toMatchObject({ succeeded: 1, failed: 1 });
  answers.clear();
  const run = await retried(live, runId, { fromStep: 'second', path: 'both.right.inner.0.second' });
  expect([run.status, asked()]).toEqual(['completed', expect.arrayContaining(['late', 'second/0'])]);
  expect(asked()).not.toEqual(expect.arrayContaining(['early', 'fine', 'first/0']));
  expect(run.output.steps.both).toMatchObject({ succeeded: 2, failed: 0 });
});

test('a path that leads nowhere, or that its step does not end, is refused', async () => {
  const gate = { id: 'gate', type: 'condition', expression: 'true' };
  answers.set('GET /second/1', refuse);
  answers.set('GET /first/0', refuse);
  const runId = await start(live, [gate, each({ mode: 'settled' }), send('after', 'after')], [0, 1]);
  expect((await endOf(live, runId)).status).toBe('completed');
  const refused: [Body, string][] = [
    [{ fromStep: 'second' }, 'fromStep'],
    [{ path: 'each.1.second' }, 'fromStep'],
    [{ fromStep: 'first', path: 'each.1.second' }, 'fromStep'],
    [{ fromStep: 'second', path: 'each.1.nothing.second' }, 'path'],
    [{ fromStep: 'second', path: ['each', 'second'] }, 'path'],
    [{ fromStep: 'second', path: 'each.2.second' }, 'path'],
    [{ fromStep: 'second', path: 'each.x.second' }, 'path'],
    [{ fromStep: 'nothing', path: 'each.0.nothing' }, 'path'],
    [{ fromStep: 'second', path: 'after.0.second' }, 'path'],
    // The step before it failed.
    [{ fromStep: 'second', path: 'each.0.second' }, 'fromStep'],
    [{ fromStep: 'second', path: 'each 1 second' }, 'path'],
  ];
  for (const [body, path] of refused) {
    for (const headers of [inA, inB]) {
      const answer = await live.post(`/v1/runs/${runId}/retry`, body, headers);
      expect([body, answer.status, answer.body.error.details.errors[0].path]).toEqual([body, 400, path]);
    }
  }
});

test('of a changed definition, what is within a changed container is executed anew', async () => {
  answers.set('GET /second/1', refuse);
  const runId = await start(live, [each({ concurrency: 1 })], [0, 1]);
  const { workflowId } = await endOf(live, runId);
  answers.clear();
  const change = (steps: Step[]) => live.patch(`/api/v1/workflows/${workflowId}`, { steps });
  expect((await change([each({ concurrency: 1 }), send('more', 'more')])).status).toBe(200);
  await retried(live, runId, { definition: 'current' });
  expect(asked()).toEqual(['more', 'second/1']);
  expect((await change([each({ concurrency: 1 }, send('third', 'third/{{item}}'))])).status).toBe(200);
  await retried(live, runId, { definition: 'current' });
  expect(asked()).toEqual(['first/0', 'first/1', 'second/0', 'second/1', 'third/0', 'third/1']);
});

test('a request whose answer was lost is repeated with its key, through several retries, until there is an answer', async () => {
  const post = send('post', 'post/{{item}}', { method: 'POST', retry: undefined });
  const map = { id: 'each', type: 'map', items: '[0]', steps: [post] };
  answers.set('POST /post/0', lose);
  const runId = await start(live, [send('gate', 'gate'), map]);
  const first = await endOf(live, runId);
  expect(first.error).toMatchObject({ stepId: 'post', code: 'outcome_unknown' });
  const key = `${uuidOf(runId)}.each.0.post`;
  expect(received.at(-1)).toEqual({ asked: 'POST /post/0', key });

  const second = await retried(live, runId, { fromStep: 'gate' });
  expect(second.error).toMatchObject({ code: 'outcome_unknown' });
  expect(received.at(-1)!.key).toBe(key);

  // A run that does not come to the step hands the key on.
  answers.set('GET /gate', refuse);
  const third = await retried(live, second.runId, { fromStep: 'gate' });
  expect([third.error.stepId, received.length]).toEqual(['gate', 1]);
  expect(received[0]!.key).toBe(`${uuidOf(third.runId)}.gate`);

  answers.delete('GET /gate');
  answers.set('POST /post/0', refuse);
  const fourth = await retried(live, third.runId);
  expect(fourth.error).toMatchObject({ code: 'http_error' });
  expect(received.at(-1)!.key).toBe(key);

  // That was an answer.
  answers.delete('POST /post/0');
  const fifth = await retried(live, fourth.runId);
  expect(fifth.status).toBe('completed');
  expect(received.at(-1)!.key).toBe(`${uuidOf(fifth.runId)}.each.0.post`);
});

/** Cancels a run while what its step began is held. @param find finds what is held, by its id */
async function cutOff(steps: Step[], find: (runId: string) => Promise<string | undefined>) {
  const before = await creditsOf(sandbox);
  const runId = await start(sandbox, steps);
  const id = await until('it is being made', () => find(runId));
  await sandbox.post(`/api/v1/runs/${runId}/cancel`, {}, inA);
  return { before, runId, id };
}

test('a step of a feature that was cut off takes over what its first run began, and is charged once', async () => {
  const hold = newHold(product.database);
  const draw = { id: 'draw', type: 'image', payload: { prompt: hold.word } };
  const { before, runId, id } = await cutOff([draw], async (runId) => {
    const { rows } = await product.database.pool.query(
      `select g.id from run_wait w join generation g on g.id = w.subject_id where w.run_id = $1`,
      [uuidOf(runId)],
    );
    return rows[0]?.id as string | undefined;
  });
  const retrying = retried(sandbox, runId);
  await until('the second run waits for the image of the first', async () => {
    const sql = 'select from run_wait where subject_id = $1 and run_id <> $2';
    return (await product.database.pool.query(sql, [id, uuidOf(runId)])).rows.length > 0;
  });
  await hold.release();
  const run = await retrying;
  expect([run.status, run.output.result.id]).toEqual(['completed', `gen_${id.replaceAll('-', '')}`]);
  const after = await creditsOf(sandbox);
  expect(before.balance - after.balance).toBe(run.output.result.creditsUsed);
  // It is done: named again, it is another image.
  const another = await retried(sandbox, run.runId, { fromStep: 'draw' });
  expect(another.output.result.id).not.toBe(run.output.result.id);
});

test('a video that was cancelled with its run is made anew', async () => {
  const hold = newHold(product.database);
  const film = { id: 'film', type: 'video', payload: { prompt: hold.word, duration: 5 } };
  const { runId, id } = await cutOff([film], async (runId) => {
    const sql = `select subject_id as id from run_wait where run_id = $1 and type = 'job'`;
    return (await product.database.pool.query(sql, [uuidOf(runId)])).rows[0]?.id as string | undefined;
  });
  await until('the video is cancelled', async () => {
    const { rows } = await product.database.pool.query('select status from generation where id = $1', [id]);
    return rows[0].status === 'cancelled';
  });
  await hold.release();
  const run = await retried(sandbox, runId);
  expect(run.status).toBe('completed');
  expect(run.output.result.id).not.toBe(`vid_${id.replaceAll('-', '')}`);
});
