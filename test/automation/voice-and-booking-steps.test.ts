import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { reserveCredits } from '../../src/credits/index.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { newHold } from '../hold.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { sceneOf } from '../scheduling/scene.ts';
import { creditsOf, fileAt } from '../studio/files.ts';
import { until } from '../until.ts';
import { endOf, inB, makeWorkflow } from './make-workflow.ts';

let product: StartedProduct;
let api: ApiClient;
let organizationId: string;
beforeAll(async () => {
  product = await sharedProduct();
  const tenant = await product.createTenant({ plan: 'enterprise' });
  api = apiClient(product.process.api, tenant.testKey);
  ({ organizationId } = tenant);
});
afterAll(() => product.close());

const inA = { 'x-api-variant': 'A' };

async function start(on: ApiClient, steps: object[], input: unknown = null): Promise<string> {
  const { id } = await makeWorkflow(on, { steps });
  return (await on.post(`/v1/workflows/${id}/execute`, { async: true, input }, inA)).body.data.runId;
}
const run = async (steps: object[], input?: unknown) => endOf(api, await start(api, steps, input));

const say = (payload: object, id = 'say') => ({ id, type: 'speech', payload });
const hear = (payload: object, id = 'hear') => ({ id, type: 'transcription', payload });

test('a text is spoken and transcribed again: each is charged once, and a map speaks for each item', async () => {
  const before = await creditsOf(api);
  const steps = [
    say({ text: 'Hello {{input.name}}.', voice: '{{input.voice}}', speed: '{{input.speed}}' }),
    hear({ url: '{{steps.say.output.url}}', language: 'en-GB', prompt: 'Ada' }),
    { id: 'each', type: 'map', items: 'input.names', steps: [say({ text: 'Hello {{item}}.' }, 'one')] },
  ];
  const input = { name: 'Ada', voice: 'nova', speed: 1.5, names: ['Grace', 'Edsger'] };
  const { status, output, error } = await run(steps, input);
  expect([status, error]).toEqual(['completed', undefined]);
  const { say: spoken, hear: transcript, each } = output.steps;
  expect(spoken).toEqual({
    url: expect.stringContaining('.mp3'),
    format: 'mp3',
    bytes: expect.any(Number),
    creditsUsed: 1,
  });
  expect((await fileAt(spoken.url)).byteLength).toBe(spoken.bytes);
  expect(transcript).toEqual({ text: 'Hello Ada.', duration: expect.any(Number), language: 'en' });
  expect(each.outputs).toEqual([1, 2].map(() => expect.objectContaining({ format: 'mp3', creditsUsed: 1 })));
  const after = await creditsOf(api);
  expect([before.balance - after.balance, after.reserved]).toEqual([5, 0]);
});

test.each([
  ['a provider that fails', say({ text: 'sandbox:fail' }), 'service_unavailable'],
  ['a provider that is too slow', say({ text: 'sandbox:timeout' }), 'timeout'],
  ['a voice that there is none of', say({ text: 'Hello.', voice: '{{input}}' }), 'invalid_payload'],
  ['nothing to say', say({ text: '{{input.nothing}}' }), 'invalid_payload'],
  ['an address inside', hear({ url: 'http://169.254.169.254/latest' }), 'invalid_payload'],
  ['no address', hear({ url: '{{input}}' }), 'invalid_payload'],
])('%s fails the step, and nothing is charged', async (_, step, code) => {
  const before = await creditsOf(api);
  const { status, error } = await run([step], 'nobody');
  expect([status, error.code, error.stepId]).toEqual(['failed', code, step.id]);
  expect(await creditsOf(api)).toEqual(before);
});

test('credits that are missing fail a step that speaks and one that transcribes', async () => {
  const { url } = (await run([say({ text: 'We meet on Monday.' })])).output.steps.say;
  const { organizationId: id, testKey } = await product.createTenant({ plan: 'pro' });
  const poor = apiClient(product.process.api, testKey);
  const { balance: amount } = await creditsOf(poor);
  const tenant = { organizationId: organizationIds.parse(id)!, environment: 'test' } as const;
  const rest = { operation: 'tts', key: 'everything', amount, expiresInMs: 3_600_000 };
  await reserveCredits(new Scope(product.database, tenant, 'steps'), rest);
  for (const step of [say({ text: 'Hello.' }), hear({ url })]) {
    const { status, error } = await endOf(poor, await start(poor, [step]));
    expect([status, error]).toMatchObject(['failed', { code: 'insufficient_credits', stepId: step.id }]);
  }
  expect(await creditsOf(poor)).toEqual({ balance: amount, reserved: amount });
});

describe('a step waits for a place, and does not fail', () => {
  // One call of a voice at a time for `enterprise`, and one a minute for `team`.
  let narrow: StartedProduct;
  beforeAll(async () => {
    narrow = await sharedProduct('narrow');
  });
  afterAll(() => narrow.close());
  const clientOf = async (plan: string) => apiClient(narrow.process.api, (await narrow.createTenant({ plan })).testKey);
  const waitsForSlot = (own: ApiClient, runId: string) =>
    until('a step waits for its slot', async () => {
      const { waitingFor = [] } = (await own.get(`/api/v1/runs/${runId}`, inB)).body.data;
      return waitingFor.some(({ type }: { type: string }) => type === 'slot');
    });
  const each = (step: object) => ({ id: 'each', type: 'map', items: 'input', steps: [step] });

  test('among the calls of its plan', async () => {
    const own = await clientOf('enterprise');
    const hold = newHold(narrow.database);
    const items = [1, 2].map((at) => `${hold.word} Number ${at}.`);
    const runId = await start(own, [each(say({ text: '{{item}}' }, 'one'))], items);
    await waitsForSlot(own, runId);
    await hold.release();
    const { status, output, error } = await endOf(own, runId);
    expect([status, error, output.steps.each.succeeded]).toEqual(['completed', undefined, 2]);
  });

  test('in the minute of its operation', async () => {
    const other = await clientOf('pro');
    const spoken = await endOf(other, await start(other, [say({ text: 'We meet on Monday.' })]));
    const recording = spoken.output.steps.say.url;
    const own = await clientOf('team');
    // Even if a new minute begins in between, one of three is over the limit.
    for (const [step, input] of [
      [say({ text: 'Number {{item}}.' }, 'one'), [1, 2, 3]],
      [hear({ url: '{{item}}' }, 'one'), Array(3).fill(recording)],
    ] as const) {
      const runId = await start(own, [each(step)], input);
      await waitsForSlot(own, runId);
      const steps = (await own.get(`/api/v1/runs/${runId}/steps?status=failed`, inB)).body.data;
      expect(steps.total).toBe(0);
      await own.post(`/api/v1/runs/${runId}/cancel`, {}, inA);
    }
  });
});

test('a time is booked as the endpoint books it, once; one that is taken fails the step with its code', async () => {
  const scene = sceneOf(api);
  const { id: eventTypeId } = await scene.offer({});
  const book = {
    id: 'book',
    type: 'booking',
    payload: {
      eventTypeId,
      start: '{{input.start}}',
      attendee: { name: '{{input.name}}', email: '{{input.email}}' },
      metadata: { order: '{{input.order}}' },
    },
  };
  const input = { start: '2041-06-12T09:00:00Z', name: 'Grace Hopper', email: 'grace@example.com', order: 7 };
  const first = await run([book], input);
  expect([first.status, first.error]).toEqual(['completed', undefined]);
  const booking = first.output.steps.book;
  expect(booking).toMatchObject({ status: 'confirmed', eventTypeId, metadata: { order: 7 } });
  const found = (await api.get(`/api/v1/scheduling/bookings/${booking.id}`)).body.data;
  expect(found).toMatchObject({ id: booking.id, start: '2041-06-12T09:00:00.000Z', attendee: { name: input.name } });
  const second = await run([book], input);
  expect([second.status, second.error.code, second.error.details?.reason]).toEqual([
    'failed',
    'slot_unavailable',
    'booked',
  ]);
  expect((await run([book], { ...input, email: 'nobody' })).error.code).toBe('invalid_payload');
  const { status, body } = await api.post('/v1/workflows', { name: 'x', steps: [{ ...book, payload: {} }] }, inA);
  const paths = body.error.details.errors.map(({ path }: { path: string }) => path);
  expect([status, paths]).toEqual([
    400,
    ['steps.0.payload.eventTypeId', 'steps.0.payload.start', 'steps.0.payload.attendee'],
  ]);
});

test('a test run answers with records of the sandbox, and neither charges, stores nor books', async () => {
  const scene = sceneOf(api);
  const { id: eventTypeId } = await scene.offer({});
  const before = await creditsOf(api);
  const attendee = { name: 'Ada', email: 'ada@example.com' };
  const start = '2042-06-11T09:00:00Z';
  const steps = [
    say({ text: 'Hello.' }),
    hear({ url: '{{steps.say.output.url}}' }),
    { id: 'book', type: 'booking', payload: { eventTypeId, start, attendee } },
  ];
  const { id } = await makeWorkflow(api, { steps });
  const { status, body } = await api.post(`/v1/workflows/${id}/test`, { input: null }, inA);
  expect([status, body.data.error, body.data.status]).toEqual([200, null, 'COMPLETED']);
  const { say: spoken, book, hear: transcript } = body.data.output.steps;
  expect(spoken.url).toBe('https://samples.example.com/sample.mp3');
  expect(transcript).toMatchObject({ language: 'en' });
  expect((await api.get(`/api/v1/scheduling/bookings/${book.id}`)).status).toBe(404);
  expect(await creditsOf(api)).toEqual(before);
  expect((await scene.book(eventTypeId, start)).status).toBe(201);
});

test.each([
  ['voice', say({ text: 'Hello.' })],
  ['voice', hear({ url: 'https://recordings.example.com/a.mp3' })],
  [
    'scheduling',
    { id: 'book', type: 'booking', payload: { eventTypeId: 'x', start: '{{input}}', attendee: '{{input}}' } },
  ],
])('the key that saves such a step needs the scope %s', async (scope, step) => {
  const { key } = await createKey(product.database, {
    organizationId,
    environment: 'test',
    scopes: ['workflows:read', 'workflows:write'],
  });
  const other = apiClient(product.process.api, key);
  const { status, body } = await other.post('/v1/workflows', { name: 'x', steps: [step] }, inA);
  expect([status, body.error.details]).toEqual([403, { required: scope }]);
});
