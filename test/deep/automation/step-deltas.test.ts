import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { type ApiClient, apiClient, untilTaken } from '../../api-client.ts';
import { endOf, makeWorkflow } from '../../automation/make-workflow.ts';
import { type EventStream, followEvents, type StreamedEvent } from '../../event-stream.ts';
import { type LiveFakes, startLiveFakes } from '../../fakes/live-adapters.ts';
import { secrets } from '../../operator.ts';
import { openProduct, type Product } from '../../product.ts';
import type { ProductProcess } from '../../product-process.ts';
import { until } from '../../until.ts';

/** What live models write reaches readers in another process while they write, with the providers' wire formats on loopback. */

let product: Product;
let front: ProductProcess;
let worker: ProductProcess;
let live: ApiClient;
let liveKey: string;
let sandbox: ApiClient;
let testKey: string;
let fakes: LiveFakes;

const model = { provider: 'OPENAI', model: 'gpt-4.1' };
const openai = () => fakes.of('OPENAI');
const text = 'The first part, Straße 🙂; the second part; and a third one, which is the last.';

beforeAll(async () => {
  fakes = await startLiveFakes();
  product = await openProduct({ env: { ...secrets, ...fakes.env } });
  [front, worker] = await Promise.all([product.start(['api']), product.start(['runs', 'generation'])]);
  ({ liveKey, testKey } = await product.createTenant({ plan: 'enterprise' }));
  live = apiClient(front.api, liveKey);
  sandbox = apiClient(front.api, testKey);
});
beforeEach(() => fakes.reset());
afterAll(async () => {
  await product.close();
  await fakes.close();
});

const prompt = (more: object = {}) => ({ id: 'say', type: 'prompt', prompt: 'Tell me.', ...model, ...more });

async function execute(steps: object[], by = live): Promise<string> {
  const { id } = await makeWorkflow(by, { steps });
  const { body } = await by.post(`/api/v1/workflows/${id}/execute`, { input: 'x', async: true });
  return body.data.runId;
}

const follow = (
  runId: string,
  { key = liveKey, deltas = true, after }: { key?: string; deltas?: boolean; after?: string } = {},
) =>
  untilTaken('the stream is opened', () => {
    const query = deltas ? '?deltas=true' : '';
    return followEvents(`${front.api}/api/v1/runs/${runId}/events${query}`, key, after);
  });

interface Read {
  events: StreamedEvent[];
  deltas: StreamedEvent[];
  /** The text of each step, as a reader keeps it. */
  texts: Record<string, string>;
}

/** Reads a stream to its end, and keeps texts as the documentation says. */
async function read({ events }: EventStream, onEvent: (event: StreamedEvent) => void = () => {}): Promise<Read> {
  const found: Read = { events: [], deltas: [], texts: {} };
  for await (const event of events) {
    onEvent(event);
    found.events.push(event);
    if (event.name !== 'step.delta') continue;
    found.deltas.push(event);
    const { stepId, path, offset, text: part } = event.data;
    const key = path?.join('.') ?? stepId;
    found.texts[key] = (found.texts[key] ?? '').slice(0, offset) + part;
  }
  return found;
}

const names = ({ events }: Read) => events.map(({ name }) => name).filter((name, at, all) => name !== all[at - 1]);

test('a reader has the text while it is written, a late one has it so far, and nothing is stored of it', async () => {
  openai().always({ say: { text }, everyMs: 700 });
  // On a busy machine parts of the text may come as one: then another run is followed.
  const { runId, early, late } = await until('a text comes in its three parts', async () => {
    const runId = await execute([prompt(), prompt({ id: 'again' })]);
    let reading: Promise<Read> | undefined;
    const early = await read(await follow(runId), ({ name, data }) => {
      if (name !== 'step.delta') return;
      if (data.stepId === 'say' && data.offset > 0) reading ??= follow(runId).then((stream) => read(stream));
    });
    const late = await reading;
    const parts = early.deltas.filter(({ data }) => data.stepId === 'say').length;
    return late !== undefined && parts >= 3 && { runId, early, late };
  });
  expect(names(early)).toEqual([
    'run.started',
    'step.started',
    'step.delta',
    'step.completed',
    'step.started',
    'step.delta',
    'step.completed',
    'run.completed',
  ]);
  expect(early.texts).toEqual({ say: text, again: text });
  for (const { cursor, data } of early.deltas) {
    expect(cursor || undefined).toBeUndefined();
    expect(Object.keys(data)).toEqual(['runId', 'stepId', 'offset', 'text']);
  }
  const { texts, deltas } = late;
  expect(texts).toEqual({ say: text, again: text });
  expect(deltas[0]!.data.offset).toBe(0);
  expect(deltas[0]!.data.text.length).toBeGreaterThan(text.length / 3);

  // A stream that goes on repeats no text, and one that asks for none has none.
  const { events } = early;
  const afterFirst = events.find(({ name }) => name === 'step.completed')!.cursor!;
  expect((await read(await follow(runId, { after: afterFirst }))).deltas).toEqual([]);
  expect((await read(await follow(runId, { deltas: false }))).deltas).toEqual([]);
  const { rows } = await product.database.pool.query(`select count(*)::int as count from run_step where run_id = $1`, [
    runId,
  ]);
  expect(rows[0].count).toBe(2);
});

test('fifty readers have the same, at most twenty deltas a second each', async () => {
  const long = 'word '.repeat(400);
  openai().always({ flood: 2_000, with: 'text', say: { text: long } });
  openai().next({ after: 1_500, then: { say: { text: long }, everyMs: 300 } });
  const runId = await execute([prompt()]);
  const times: number[][] = [];
  const reads = await Promise.all(
    Array.from({ length: 50 }, async (_, index) => {
      times[index] = [];
      return read(await follow(runId), ({ name }) => name === 'step.delta' && times[index]!.push(Date.now()));
    }),
  );
  for (const { texts, events } of reads) {
    expect(events.at(-1)!.name).toBe('run.completed');
    expect(texts).toEqual({ say: long });
  }
  // Those that wait for a busy reader come together: what is bounded is how many were sent in all this time.
  for (const of of times) {
    const seconds = (of.at(-1)! - of[0]!) / 1_000;
    expect(of.length).toBeLessThanOrEqual(20 * (seconds + 1));
  }
});

test('the first reader of an environment comes during a step: it has the text so far, and the rest as it is written', async () => {
  // On a busy machine the rest may be written before the reader comes: then another environment has its first one.
  const { texts, deltas } = await until('a reader comes amid a text', async () => {
    const { liveKey: key } = await product.createTenant({ plan: 'enterprise' });
    const fresh = apiClient(front.api, key);
    openai().reset();
    openai().next({ say: { text }, everyMs: 1_000 });
    const runId = await execute([prompt()], fresh);
    await until('the model is asked', async () => openai().journal.length > 0);
    const found = await read(await follow(runId, { key }));
    return found.deltas.length >= 2 && found;
  });
  expect(texts).toEqual({ say: text });
  expect(deltas[0]!.data.offset).toBe(0);
});

test('while a model may call tools it is not asked for a stream: what it says beside calls is not shown, and its answer comes whole', async () => {
  expect((await live.request('PUT', '/api/v1/tools/memory', { enabled: true })).status).toBe(200);
  const begun = openai().journal.length;
  const calls = [{ name: 'memory_read_graph', args: {} }];
  openai().next({ say: { text: 'I look.', calls } }, { say: { text } });
  const { deltas, events } = await read(await follow(await execute([prompt({ tools: ['memory'] })])));
  expect(deltas.map(({ data }) => [data.offset, data.text])).toEqual([[0, text]]);
  expect(events.at(-1)).toMatchObject({ name: 'run.completed' });
  const asked = openai().journal.slice(begun);
  expect(asked.map(({ body }) => [body.tools.length > 0, body.stream ?? false])).toEqual([
    [true, false],
    [true, false],
  ]);
});

test('a worker that is killed while a text is written: another one goes on, and readers keep a text that agrees', async () => {
  const changed = text.replace('second', 'next');
  // The first text has no end, so that its worker is killed while it is written, however late that is.
  openai().next({ stall: { text } }, { say: { text: changed }, everyMs: 400 });
  const runId = await execute([prompt()]);
  let killed: Promise<unknown> | undefined;
  const found = await read(await follow(runId), ({ name, data }) => {
    // Not before the reader has some of what is taken back.
    if (name !== 'step.delta' || data.offset + data.text.length <= text.indexOf('second')) return;
    killed ??= worker.kill().then(async () => {
      worker = await product.start(['runs', 'generation']);
    });
  });
  await killed;
  expect(found.texts).toEqual({ say: changed });
  expect(found.events.at(-1)!.name).toBe('run.completed');
  expect((await endOf(live, runId)).output.result).toBe(changed);
  // The text that was taken back begins anew.
  expect(found.deltas.slice(1).some(({ data }) => data.offset === 0)).toBe(true);
});

test('a reader that reads nothing costs nothing, and has the result when it reads', async () => {
  openai().next({ after: 500, then: { say: { text }, everyMs: 300 } });
  const runId = await execute([prompt()]);
  const stream = await follow(runId);
  await endOf(live, runId);
  expect((await read(stream)).texts).toEqual({ say: text });
});

test('the sandbox has deltas, too, of steps side by side and of those that answer at once', async () => {
  const branch = (id: string, words: string) => ({ id, type: 'prompt', prompt: words });
  const runId = await execute(
    [
      branch('quick', 'Hello {{input}}'),
      {
        id: 'both',
        type: 'parallel',
        branches: [
          { id: 'left', steps: [branch('one', 'sandbox:slow=2 one')] },
          { id: 'right', steps: [branch('two', 'two')] },
        ],
      },
    ],
    sandbox,
  );
  const { texts, events } = await read(await follow(runId, { key: testKey }));
  const { stepResults } = await endOf(sandbox, runId);
  expect(events.at(-1)!.name).toBe('run.completed');
  expect(texts.quick).toBe(stepResults.find(({ stepId }: { stepId: string }) => stepId === 'quick').output);
  const keys = Object.keys(texts);
  expect(keys).toHaveLength(3);
  const [one] = keys.filter((key) => key.endsWith('one'));
  expect(texts[one!]).toContain('one');
});
