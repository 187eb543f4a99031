import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { textProviders } from '../../src/providers/text/models.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { type LiveFakes, liveAdapters, startLiveFakes } from '../fakes/live-adapters.ts';
import type { Behaviour } from '../fakes/wire-server.ts';
import type { Probe } from './cost-walk.ts';
import { type MeasuredProduct, startMeasured } from './measured-product.ts';
import { exchange, isServing } from './requests.ts';
import { deepObjects, longText, manyMembers, manyNumbers, maxMembers, maxShapes } from './worst-bodies.ts';

// Answers of megabytes and streams of 400,000 events: more than they take alone, as others may use the machine too.
jest.setTimeout(600_000);

let product: MeasuredProduct;
let fakes: LiveFakes;
let live: ApiClient;

beforeAll(async () => {
  fakes = await startLiveFakes();
  product = await startMeasured(fakes.env);
  live = apiClient(product.process.api, product.liveKey);
  expect((await live.request('PUT', '/api/v1/tools/memory', { enabled: true })).status).toBe(200);
});
afterAll(async () => {
  await product.close();
  await fakes.close();
});

const megabyte = 1_000_000;
const say = (text: string): Behaviour => ({ say: { text } });
const refusal = (message: string): Behaviour => ({
  fail: {
    status: 400,
    // Each provider reads its own members, and none minds the others'.
    body: { type: 'error', error: { type: 'invalid_request_error', message, code: 400, status: 'INVALID_ARGUMENT' } },
  },
});
const calls = (count: number): Behaviour => ({
  say: { text: 'Wait.', calls: Array.from({ length: count }, () => ({ name: 'memory_read_graph', args: {} })) },
});

/** What a model may answer at once. */
const answers: Record<string, Behaviour> = {
  'a long text': say(longText(megabyte / 2)),
  '3,000 line breaks': say(`${'\n'.repeat(3_000)}x`),
  'fences without an end': say(`${'```json\n'.repeat(20_000)}x`),
  'spaces between two fences': say(`\`\`\`${' '.repeat(100_000)}\n\`\`\`${' '.repeat(100_000)}x`),
  'controls and broken letters': say('\u0000\ud800 \udc00'.repeat(100_000)),
  'deep JSON': say(deepObjects(megabyte)),
  'JSON of many members': say(manyMembers(megabyte)),
  'JSON of the most members': say(maxMembers(250_000)),
  'a body of many objects': { type: 'application/json', text: `[${'{},'.repeat(2 * megabyte)}{}]` },
  'a body of deep lists': { type: 'application/json', text: '['.repeat(8 * megabyte) },
  'a body of the most shapes': { type: 'application/json', text: maxShapes(megabyte) },
  'JSON of many numbers': say(manyNumbers(megabyte)),
  'the most calls of tools': calls(100),
  'a thousand calls of tools': calls(1_000),
  'a long message of an error': refusal(longText(200_000)),
  'a message of an error that is all keys': refusal(
    'sk-proj-0123456789abcdef key=abc Bearer eyJhbGciOi '.repeat(4_000),
  ),
};

/** Those of which a step with a schema makes more than one without. */
const readAsJson = [
  'fences without an end',
  'spaces between two fences',
  'deep JSON',
  'JSON of many members',
  'JSON of the most members',
];

/** What a model may stream. */
const streams: Record<string, Behaviour> = {
  '19,000 events of a letter': { flood: 19_000, with: 'text' },
  '400,000 events of a letter': { flood: 400_000, with: 'text' },
  '400,000 comments': { flood: 400_000, with: 'comments' },
  'a long text': say(longText(megabyte / 2)),
  'an event of many objects': { type: 'text/event-stream', text: `data: [${'{},'.repeat(2 * megabyte)}{}]\n\n` },
  'an event of deep lists': { type: 'text/event-stream', text: `data: ${'['.repeat(8 * megabyte)}\n\n` },
  'a stream without an end': 'endless',
};

test('each provider of text models has its answers here', () => {
  expect(liveAdapters.map(({ provider }) => provider).toSorted()).toEqual(Object.keys(textProviders).toSorted());
});

test.each(liveAdapters)('answers of $title are as cheap as the table says', async ({ provider, title, model }) => {
  const fake = fakes.of(provider);
  const step = { id: 'say', type: 'prompt', prompt: 'Say it', provider, model };
  const plain = await makeWorkflow(live, { steps: [Object.assign({ tools: ['memory'] }, step)] });
  const typed = await makeWorkflow(live, { steps: [Object.assign({ outputSchema: { type: 'object' } }, step)] });
  const headers = { authorization: `Bearer ${product.liveKey}`, 'content-type': 'application/json' };
  const ask = (path: string, body: object, readsEvents = false) =>
    exchange(product.process.api, { method: 'POST', path, headers, readsEvents, body: JSON.stringify(body) });
  const run = ({ id }: { id: string }) => ask(`/api/v1/workflows/${id}/execute`, { input: 'x' });
  const streamed = { messages: [{ role: 'user', content: 'Say it.' }], model, stream: true };
  for (const workflow of [plain, typed]) await run(workflow);
  const answeredWith = (door: string, name: string, behaviour: Behaviour, workflow: { id: string }): Probe => ({
    input: { door: `an answer of ${title} to ${door}`, name },
    send() {
      fake.always(behaviour);
      return run(workflow);
    },
  });
  await product.walk.sendAll(
    Object.entries(answers).flatMap(([name, behaviour]) => [
      answeredWith('a step', name, behaviour, plain),
      ...(readAsJson.includes(name) ? [answeredWith('a step with a schema', name, behaviour, typed)] : []),
    ]),
  );
  fake.reset();
  await ask('/api/chat', streamed, true);
  await product.walk.sendAll(
    Object.entries(streams).map(([name, behaviour]) => ({
      input: { door: `a stream of ${title}`, name },
      settles: true,
      send() {
        fake.always(behaviour);
        return ask('/api/chat', streamed, true);
      },
    })),
  );
  fake.reset();
  expect(product.walk.takeExcesses()).toEqual([]);
  expect(await isServing(product.process.api)).toBe(true);
});
