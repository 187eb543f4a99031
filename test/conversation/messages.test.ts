import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { newHold } from '../hold.ts';
import { sharedProduct } from '../product.ts';
import { creditsOf } from '../studio/files.ts';
import { until } from '../until.ts';
import { joined, type Sender, streamReply } from './reply-events.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
let sender: Sender;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
  sender = { api: product.process.api, key: product.tenant.testKey };
});
afterAll(() => product.close());

const chatBody = (content: string) => ({ messages: [{ role: 'user', content }] });
const chat = (body: object, headers?: Record<string, string>, on = api) => on.post('/api/chat', body, headers);
const ask = (body: object, headers?: Record<string, string>, on = api) => on.post('/api/agents/chat', body, headers);

const newTenant = async () => {
  const { testKey: key } = await product.createTenant({ plan: 'pro' });
  return { client: apiClient(product.process.api, key), sender: { api: product.process.api, key } };
};
const tokensOf = async (client: ApiClient) => (await client.get('/api/v1/usage')).body.data.tokens;

describe('a message', () => {
  test('is replied to for one credit, and counted', async () => {
    const { client } = await newTenant();
    const { balance } = await creditsOf(client);
    const { status, body, headers } = await chat(chatBody('Say hello.'), undefined, client);
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        success: true,
        data: {
          content: expect.stringMatching(/^\[sandbox gemini-2\.0-flash [0-9a-f]{12}\] Say hello\.$/),
          model: 'gemini-2.0-flash',
        },
      },
    });
    expect(headers.get('x-credits-used')).toBe('1');
    expect(await creditsOf(client)).toEqual({ balance: balance - 1, reserved: 0 });
    expect(await tokensOf(client)).toBeGreaterThan(0);
    // Equal conversations have equal replies; another history is another conversation.
    expect((await chat(chatBody('Say hello.'))).body).toEqual(body);
    const longer = { messages: [{ role: 'assistant', content: 'Yes?' }, ...chatBody('Say hello.').messages] };
    expect((await chat(longer)).body.data.content).not.toBe(body.data.content);
  });

  test('to an agent has its instructions, its history and its temperature', async () => {
    const asked = { message: 'What is your name?', systemPrompt: 'You are terse.' };
    const contents = new Set<string>();
    for (const more of [{}, { temperature: 0 }, { history: [{ role: 'user', content: 'Hello' }] }]) {
      const { status, body } = await ask({ ...asked, ...more });
      expect([status, body.data.model]).toEqual([200, 'gemini-2.0-flash']);
      contents.add(body.data.content);
    }
    contents.add((await ask({ ...asked, systemPrompt: 'You are loud.' })).body.data.content);
    expect(contents.size).toBe(4);
    const usual = (await ask({ ...asked, temperature: 0.7 })).body.data.content;
    expect(contents.has(usual)).toBe(true);
  });

  test.each([
    ['/api/chat', {}, 'Messages are required'],
    ['/api/chat', { messages: null }, 'Messages are required'],
    ['/api/chat', { messages: 'Hello' }, 'Messages are required'],
    ['/api/chat', { messages: [] }, 'Messages are required'],
    [
      '/api/chat',
      { messages: [{ role: 'system', content: 'x' }] },
      'messages.0.role: Expected one of user, assistant.',
    ],
    [
      '/api/chat',
      { messages: [{ role: 'user', content: ' \n' }] },
      'messages.0.content: Expected at least one character that is not a space.',
    ],
    [
      '/api/chat',
      { messages: [{ role: 'assistant', content: 'x' }] },
      'messages: The last message must have the role user.',
    ],
    [
      '/api/chat',
      { messages: [{}, {}, {}] },
      'messages.0.role: Required.; messages.0.content: Required.; messages.1.role: Required.; messages.1.content: Required.; messages.2.role: Required.',
    ],
    ['/api/chat', { ...chatBody('x'), model: 'gpt-1' }, 'model: There is no model of this name.'],
    ['/api/chat', { ...chatBody('x'), stream: 'yes' }, 'stream: Expected a boolean.'],
    ['/api/chat', { ...chatBody('x'), mcpServers: ['Memory'] }, 'mcpServers.0: Memory is not a tool server.'],
    [
      '/api/chat',
      { ...chatBody('x'), mcpServers: Array(13).fill('memory') },
      'mcpServers: Expected at most 12 elements.',
    ],
    ['/api/agents/chat', {}, 'Message is required'],
    ['/api/agents/chat', { message: ' ' }, 'Message is required'],
    ['/api/agents/chat', { message: null, systemPrompt: null }, 'Message is required'],
    ['/api/agents/chat', { message: 'x' }, 'System prompt is required'],
    ['/api/agents/chat', { message: 'x', systemPrompt: '\t' }, 'System prompt is required'],
    ['/api/agents/chat', { message: 5, systemPrompt: 'x' }, 'message: Expected a string.'],
    ['/api/agents/chat', { message: 'x', systemPrompt: 'x', temperature: 1.1 }, 'temperature: Expected at most 1.'],
    ['/api/agents/chat', { message: 'x', systemPrompt: 'x', temperature: '0.5' }, 'temperature: Expected a number.'],
    ['/api/agents/chat', [], 'Expected an object.'],
  ])('to %s that is wrong is refused in one sentence: %j', async (path, body, error) => {
    for (const streams of Array.isArray(body) ? [false] : [false, true]) {
      const { status, body: answer } = await api.post(
        path,
        streams && !('stream' in body) ? { ...body, stream: true } : body,
      );
      expect({ status, answer }).toEqual({ status: 400, answer: { success: false, error } });
    }
  });

  test('without a valid key is Unauthorized, and with a live key needs a provider', async () => {
    const { liveKey } = await product.createTenant();
    const live = apiClient(product.process.api, liveKey);
    for (const key of [undefined, 'sk_test_nonsense']) {
      const { status, body } = await chat(chatBody('x'), undefined, apiClient(product.process.api, key));
      expect({ status, body }).toEqual({ status: 401, body: { success: false, error: 'Unauthorized' } });
    }
    const unconfigured = [
      [await chat(chatBody('x'), undefined, live), 'Chat service not configured'],
      [await chat({ ...chatBody('x'), stream: true }, undefined, live), 'Chat service not configured'],
      [await ask({ message: 'x', systemPrompt: 'x' }, undefined, live), 'Agent service not configured'],
    ] as const;
    for (const [{ status, body, headers }, error] of unconfigured) {
      expect({ status, body, retry: headers.get('retry-after') }).toEqual({
        status: 503,
        body: { success: false, error },
        retry: null,
      });
    }
    // What is wrong with the body is reported first, and the tool servers too.
    expect((await chat({}, undefined, live)).body.error).toBe('Messages are required');
    const withTools = await chat({ ...chatBody('x'), mcpServers: ['memory', 'memory'] }, undefined, live);
    expect(withTools.body.error).toMatch(/^mcpServers\.0: memory is not configured\./);
  });

  test.each([
    ['sandbox:fail', /model failed/],
    ['sandbox:refuse', /refused the content/],
    ['sandbox:timeout', /did not answer in time/],
  ])('that fails (%s) costs nothing, and says why', async (content, error) => {
    const { client, sender: other } = await newTenant();
    const before = await creditsOf(client);
    const { status, body } = await chat(chatBody(content), undefined, client);
    expect([status, body]).toEqual([500, { success: false, error: expect.stringMatching(error) }]);
    const stream = await streamReply(other, '/api/chat', chatBody(content));
    expect([stream.status, await stream.all()]).toEqual([200, [{ name: 'error', data: body }]]);
    expect(await creditsOf(client)).toEqual(before);
  });

  test('to a model that is overloaded at first is replied to once', async () => {
    const { client } = await newTenant();
    const { balance } = await creditsOf(client);
    expect((await chat(chatBody('sandbox:overloaded'), undefined, client)).status).toBe(200);
    expect(await creditsOf(client)).toEqual({ balance: balance - 1, reserved: 0 });
  });
});

describe('a stream', () => {
  test('has the same reply in pieces, as it is written', async () => {
    // With such pauses between its pieces that a busy machine does not have all of them at once.
    const asked = chatBody('sandbox:slow=2 Tell me a long story 🚲.');
    const whole = (await chat(asked)).body.data;
    // On a busy machine two pieces may come as one. Where all do, another reply is streamed.
    const events = await until('a reply comes in pieces', async () => {
      const stream = await streamReply(sender, '/api/chat', asked);
      expect(stream.status).toBe(200);
      expect({
        type: stream.headers.get('content-type'),
        cache: stream.headers.get('cache-control'),
        buffering: stream.headers.get('x-accel-buffering'),
        credits: stream.headers.get('x-credits-used'),
      }).toEqual({ type: 'text/event-stream', cache: 'no-store', buffering: 'no', credits: null });
      const events = await stream.all();
      return events.length > 2 && events;
    });
    const deltas = events.slice(0, -1);
    expect(events.map(({ name }) => name)).toEqual([...deltas.map(() => 'delta'), 'reply']);
    expect([2, 3, 4]).toContain(deltas.length);
    expect(joined(events)).toBe(whole.content);
    expect(events.at(-1)!.data).toEqual({ ...whole, creditsUsed: 1 });
  });

  test('is given again for its Idempotency-Key: as a stream, with one delta', async () => {
    const { client, sender: other } = await newTenant();
    const { balance } = await creditsOf(client);
    const key = { 'idempotency-key': 'sent twice' };
    const first = await (await streamReply(other, '/api/chat', chatBody('Once'), key)).all();
    const again = await streamReply(other, '/api/chat', chatBody('Once'), key);
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await again.all()).toEqual([{ name: 'delta', data: { text: joined(first) } }, first.at(-1)]);
    // `stream` is part of the body that is compared.
    expect((await chat(chatBody('Once'), key, client)).status).toBe(422);
    expect(await creditsOf(client)).toEqual({ balance: balance - 1, reserved: 0 });
  });

  test('goes on when its client hangs up, and the reply is kept', async () => {
    const key = { 'idempotency-key': 'hung up' };
    const hold = newHold(product.database);
    const asked = chatBody(hold.word);
    const { client, sender: other } = await newTenant();
    const { balance } = await creditsOf(client);
    (await streamReply(other, '/api/chat', asked, key)).hangUp();
    const again = await streamReply(other, '/api/chat', asked, key);
    again.hangUp();
    expect(again.status).toBe(409);
    await hold.release();
    await until('the reply is charged', async () => (await creditsOf(client)).balance === balance - 1);
    const events = await (await streamReply(other, '/api/chat', asked, key)).all();
    expect(events.map(({ name }) => name)).toEqual(['delta', 'reply']);
    expect(await creditsOf(client)).toEqual({ balance: balance - 1, reserved: 0 });
  });
});

describe('an Idempotency-Key', () => {
  test('gets the first answer again, failures too, and another body is refused', async () => {
    const key = { 'idempotency-key': 'one' };
    const hold = newHold(product.database);
    const slow = chatBody(hold.word);
    const { client } = await newTenant();
    const { balance } = await creditsOf(client);
    const first = chat(slow, key, client);
    await until('the first is under way', async () => (await creditsOf(client)).reserved === 1);
    const meanwhile = await chat(slow, key, client);
    expect([meanwhile.status, meanwhile.body.success]).toEqual([409, false]);
    expect((await chat(chatBody('Another'), key, client)).status).toBe(422);
    await hold.release();
    const { body, headers } = await first;
    expect(headers.get('idempotent-replayed')).toBeNull();
    const again = await chat(slow, key, client);
    expect([again.headers.get('idempotent-replayed'), again.headers.get('x-credits-used')]).toEqual(['true', '1']);
    expect(again.body).toEqual(body);
    expect(await creditsOf(client)).toEqual({ balance: balance - 1, reserved: 0 });

    const failing = { 'idempotency-key': 'two' };
    const answers = [await chat(chatBody('sandbox:fail'), failing), await chat(chatBody('sandbox:fail'), failing)];
    expect(answers.map(({ status }) => status)).toEqual([500, 500]);
    expect(answers[1]!.headers.get('idempotent-replayed')).toBe('true');
  });
});

test('messages under way have a limit, and those whose client hung up count', async () => {
  const hold = newHold(product.database);
  const slow = chatBody(hold.word);
  const once = { 'idempotency-key': 'the sixth' };
  const { testKey: key } = await product.createTenant({ plan: 'free' });
  const client = apiClient(product.process.api, key);
  const before = await creditsOf(client);
  const streams = Array.from({ length: 5 }, () => streamReply({ api: product.process.api, key }, '/api/chat', slow));
  for (const stream of await Promise.all(streams)) {
    expect(stream.status).toBe(200);
    stream.hangUp();
  }
  const { status, body, headers } = await chat(slow, once, client);
  const after = await creditsOf(client);
  expect([status, body.error]).toEqual([429, 'Too many requests: the limit is 5 messages under way.']);
  expect([headers.get('retry-after'), after]).toEqual(['5', { ...before, reserved: 5 }]);
  await hold.release();
  // A refusal does not use the key up.
  const retried = await until('there is room', async () => {
    const answer = await chat(slow, once, client);
    return answer.status !== 429 && answer;
  });
  expect([retried.status, retried.headers.get('idempotent-replayed')]).toEqual([200, null]);
});

test('twenty at once with credits for five are five replies and fifteen refusals', async () => {
  const { organizationId, testKey } = await product.createTenant({ plan: 'pro' });
  const poor = apiClient(product.process.api, testKey);
  const { balance } = await creditsOf(poor);
  const { reserveCredits } = await import('../../src/credits/reservations.ts');
  const { Scope } = await import('../../src/platform/database/scope.ts');
  const { organizationIds } = await import('../../src/tenancy/core/ids.ts');
  const tenant = { organizationId: organizationIds.parse(organizationId)!, environment: 'test' } as const;
  const scope = new Scope(product.database, tenant, 'conversation-test');
  const rest = { operation: 'image', key: 'everything else', amount: balance - 5, expiresInMs: 3_600_000 } as const;
  await reserveCredits(scope, rest);
  const answers = await Promise.all(Array.from({ length: 20 }, () => chat(chatBody('A crowd'), undefined, poor)));
  const of = (wanted: number) => answers.filter(({ status }) => status === wanted);
  expect([of(200).length, of(402).length]).toEqual([5, 15]);
  expect(of(402)[0]!.body).toEqual({
    success: false,
    error: expect.stringMatching(/^This costs 1 credits?, and 0 are available\.$/),
  });
  expect(await creditsOf(poor)).toEqual({ balance: balance - 5, reserved: balance - 5 });
});
