import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { anthropicError } from '../../../test/fakes/anthropic.ts';
import { googleError } from '../../../test/fakes/google.ts';
import { connect, type LiveAdapter, liveAdapters } from '../../../test/fakes/live-adapters.ts';
import { openaiError } from '../../../test/fakes/openai.ts';
import type { Behaviour, FakeProvider, Said, WireAnswer } from '../../../test/fakes/wire-server.ts';
import { tenantKeyOf } from '../../../test/platform/tenant-key.ts';
import { until } from '../../../test/until.ts';
import type { FailureKind } from '../../platform/provider-failure.ts';
import type { ChatAnswer, ChatMessage, ChatRequest } from './chat-ports.ts';
import type { LiveOptions } from './live-model.ts';
import { listedModels } from './models.ts';

const schema = { type: 'object', properties: { depth: { type: 'integer' } } };
const tool = { name: 'memory_read_graph', description: 'Reads it.', inputSchema: schema };
const called = { name: tool.name, args: { depth: 2, text: 'Zwölf 🥊' } };
const hello: ChatMessage[] = [{ role: 'user', text: 'Hello' }];

const fakes = new Map<LiveAdapter, FakeProvider>();
beforeAll(async () => {
  for (const one of liveAdapters) fakes.set(one, await one.start());
});
beforeEach(() => {
  for (const fake of fakes.values()) fake.reset();
});
afterAll(() => Promise.all([...fakes.values()].map((fake) => fake.close())));

async function reply(
  one: LiveAdapter,
  more: Partial<ChatRequest> = {},
  { isStream = false, ...options }: Partial<LiveOptions> & { isStream?: boolean } = {},
) {
  const deltas: string[] = [];
  const thoughts: string[] = [];
  const listeners = { onDelta: (text: string) => deltas.push(text), onThought: (text: string) => thoughts.push(text) };
  const call = { tenantKey: tenantKeyOf('org'), attempt: 1, signal: new AbortController().signal };
  const request = { provider: one.provider, model: one.model, messages: hello, ...more };
  const model = connect(one, fakes.get(one)!, options);
  const answer = await model.reply(request, { ...call, ...(isStream && listeners) });
  return { answer, deltas, thoughts };
}

const resultsOf = ({ calls }: ChatAnswer, texts: string[]): ChatMessage => ({
  role: 'tools',
  results: calls.map(({ id, name }, n) => ({ callId: id, name, text: texts[n]!, isError: false })),
});
const bodyOf = (one: LiveAdapter, n = -1) => fakes.get(one)!.journal.at(n)!.body;
const [claude, gpt, gemini] = liveAdapters as [LiveAdapter, LiveAdapter, LiveAdapter];

describe('what goes over the wire', () => {
  test('to Google', async () => {
    fakes.get(gemini)!.next({ say: { calls: [called] } });
    const first = (await reply(gemini, { tools: [tool], system: 'Be brief.' }, { isStream: true })).answer;
    const { path, query } = fakes.get(gemini)!.journal[0]!;
    expect(path + query).toBe('/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse');
    const declared = { name: tool.name, description: 'Reads it.', parametersJsonSchema: schema };
    expect(bodyOf(gemini)).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      tools: [{ functionDeclarations: [declared] }],
      generationConfig: {},
    });
    const messages = [...hello, { role: 'model' as const, content: first.content }, resultsOf(first, ['done'])];
    await reply(gemini, { messages });
    const [, said, result] = bodyOf(gemini).contents;
    expect(said).toEqual(first.content);
    expect(said.parts[0].thoughtSignature).toMatch(/./);
    expect(result).toEqual({
      role: 'user',
      parts: [{ functionResponse: { name: tool.name, response: { output: 'done' } } }],
    });
    expect(bodyOf(gemini).toolConfig).toEqual({ functionCallingConfig: { mode: 'NONE' } });
  });

  test('to OpenAI', async () => {
    fakes.get(gpt)!.next({ say: { calls: [{ ...called, id: 'call_7' }] } });
    const first = (await reply(gpt, { tools: [tool] }, { isStream: true })).answer;
    const declared = { name: tool.name, description: 'Reads it.', parameters: schema };
    expect(bodyOf(gpt)).toEqual({
      model: 'gpt-4.1',
      messages: [{ role: 'user', content: 'Hello' }],
      tools: [{ type: 'function', function: declared }],
      stream: true,
      stream_options: { include_usage: true },
    });
    const messages = [...hello, { role: 'model' as const, content: first.content }, resultsOf(first, ['done'])];
    await reply(gpt, { messages, tools: [tool] });
    const call = { name: tool.name, arguments: JSON.stringify(called.args) };
    expect(bodyOf(gpt).messages.slice(1)).toEqual([
      { role: 'assistant', content: '', tool_calls: [{ id: 'call_7', type: 'function', function: call }] },
      { role: 'tool', tool_call_id: 'call_7', content: 'done' },
    ]);
  });

  test('to Anthropic', async () => {
    fakes.get(claude)!.next({ say: { calls: [{ ...called, id: 'toolu_7' }] } });
    const first = (await reply(claude, { tools: [tool] }, { isStream: true })).answer;
    expect(bodyOf(claude)).toMatchObject({
      tools: [{ name: tool.name, description: 'Reads it.', input_schema: schema }],
      stream: true,
    });
    const messages = [...hello, { role: 'model' as const, content: first.content }, resultsOf(first, ['done'])];
    await reply(claude, { messages, tools: [tool] });
    expect(bodyOf(claude).messages.slice(1)).toEqual([
      { role: 'assistant', content: first.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_7', content: 'done' }] },
    ]);
    expect(first.content).toMatchObject([
      { type: 'thinking' },
      { type: 'tool_use', id: 'toolu_7', input: called.args },
    ]);
  });

  test('schemas in the form that all take', async () => {
    const bare = { ...tool, inputSchema: { $schema: 'https://json-schema.org/draft/2020-12/schema', required: [] } };
    await reply(gpt, { tools: [bare] });
    expect(bodyOf(gpt).tools[0].function.parameters).toEqual({ type: 'object', properties: {}, required: [] });
  });
});

describe.each(liveAdapters)('$provider', (one) => {
  const next = (...behaviours: Behaviour[]) => fakes.get(one)!.next(...behaviours);
  const fail = (isStream: boolean, options: Partial<LiveOptions> = {}) =>
    reply(one, {}, { isStream, ...options }).catch((error) => error);

  test.each([false, true])('an answer with more calls than are kept is malformed; streamed: %s', async (isStream) => {
    const calls = Array.from({ length: 101 }, (_, depth) => ({ name: tool.name, args: { depth } }));
    next({ say: { calls: calls.slice(1) } }, { say: { calls } });
    expect((await reply(one, { tools: [tool] }, { isStream })).answer.calls).toHaveLength(100);
    const failure = await reply(one, { tools: [tool] }, { isStream }).catch((error) => error);
    expect(failure).toMatchObject({ kind: 'malformed_answer' });
  });

  test.each([false, true])('several calls in one answer each have a result; streamed: %s', async (isStream) => {
    const calls = [1, 2, 3].map((depth) => ({ name: tool.name, args: { depth } }));
    next({ say: { calls, text: 'I look.', thinkingTokens: 3 } });
    const { answer, deltas, thoughts } = await reply(one, { tools: [tool] }, { isStream });
    expect(answer.calls).toMatchObject(calls);
    expect(new Set(answer.calls.map(({ id }) => id)).size).toBe(3);
    // What is written beside calls is no part of a reply.
    expect([answer.text, deltas, thoughts]).toEqual(['I look.', [], isStream ? ['I look.'] : []]);
    const messages = [
      ...hello,
      { role: 'model' as const, content: answer.content },
      resultsOf(answer, ['a', 'b', 'c-3']),
    ];
    expect((await reply(one, { tools: [tool], messages }, { isStream })).answer.text).toContain('c-3');
  });

  test.each([false, true])('deep arguments are a call that cannot be made; streamed: %s', async (isStream) => {
    const args = JSON.parse(`{"a":${'['.repeat(2_000)}${']'.repeat(2_000)}}`);
    next({ say: { text: 'I look.', calls: [{ name: tool.name, args }, called] } });
    const { answer } = await reply(one, { tools: [tool] }, { isStream });
    expect(answer.calls).toMatchObject([{ args: {}, unreadable: expect.any(String) }, called]);
    // They are not sent back either.
    const messages = [...hello, { role: 'model' as const, content: answer.content }, resultsOf(answer, ['a', 'b'])];
    await reply(one, { tools: [tool], messages }, { isStream }).catch(() => {});
    expect(JSON.stringify(bodyOf(one))).not.toContain('[[[[');
  });

  test.each([
    ['many objects', `[${'{},'.repeat(900_000)}{}]`],
    ['deep lists', '['.repeat(3_000_000)],
    ['blank lines between objects', `[${`${'{},'.repeat(20_000)}\n\n`.repeat(40)}{}]`],
    ['a text of 9 MB', JSON.stringify('x'.repeat(9_000_000))],
  ])('an answer of %s is not parsed', async (_, text) => {
    for (const type of ['application/json', 'text/event-stream']) {
      next({ text, type });
      expect(await fail(false)).toMatchObject({
        kind: 'malformed_answer',
        retryable: false,
        message: `${one.title} sent a response that is too long.`,
      });
    }
  });

  test('an event of a stream is bounded as an answer is', async () => {
    next({ text: `data: [${'{},'.repeat(900_000)}{}]\n\n`, type: 'text/event-stream' });
    expect(await fail(true)).toMatchObject({ kind: 'malformed_answer', retryable: false });
  });

  test('calls with ids of the provider keep them', async () => {
    next({ say: { calls: [{ ...called, id: 'id-1' }] } });
    const { answer } = await reply(one, { tools: [tool] });
    const messages = [...hello, { role: 'model' as const, content: answer.content }, resultsOf(answer, ['done'])];
    await reply(one, { tools: [tool], messages });
    expect(JSON.stringify(bodyOf(one)).match(/id-1/g)).toHaveLength(2);
  });

  test('while tools are declared, text is passed on when it is known to be the reply', async () => {
    next({ say: { text: 'There is nothing yet.' } });
    const { answer, deltas } = await reply(one, { tools: [tool] }, { isStream: true });
    expect([answer.text, deltas.join(''), answer.calls]).toEqual([answer.text, 'There is nothing yet.', []]);
  });

  test.each([false, true])('thoughts are not text; streamed: %s', async (isStream) => {
    next({ say: { text: 'Yes.', thinkingTokens: 9, inputTokens: 100, cachedTokens: 60, outputTokens: 20 } });
    const { answer, deltas } = await reply(one, {}, { isStream });
    expect(answer).toMatchObject({ text: 'Yes.', inputTokens: 100, outputTokens: 20 });
    expect(deltas.join('')).toBe(isStream ? 'Yes.' : '');
  });

  test.each([false, true])(
    'a text that reached the limit says so, and calls nothing; streamed: %s',
    async (isStream) => {
      next({ say: { text: 'Once upon', end: 'limit', calls: [called] } });
      const { answer, deltas } = await reply(one, { tools: [tool] }, { isStream });
      expect(answer).toMatchObject({ text: 'Once upon', truncated: true, calls: [] });
      expect(deltas.join('')).toBe(isStream ? 'Once upon' : '');
    },
  );

  test.each([false, true])('an empty answer is an answer; streamed: %s', async (isStream) => {
    next({ say: { text: '' } });
    const { answer, deltas } = await reply(one, {}, { isStream });
    expect([answer.text, answer.truncated, deltas]).toEqual(['', undefined, []]);
  });

  test.each<[string, Behaviour, FailureKind]>([
    ['a dropped connection', 'hang up', 'connection'],
    ['half an answer', 'cut the answer', 'connection'],
    ['an answer that ends early', 'truncate', 'malformed_answer'],
    ['a part that is no JSON', 'garbage', 'malformed_answer'],
    ['the page of a gateway', 'page', 'malformed_answer'],
    ['a text without an end', 'endless', 'malformed_answer'],
    ['a refusal', { say: { end: 'refused' } }, 'content_refused'],
    ['no room for text', { say: { text: '', end: 'limit' } }, 'invalid_request'],
    ['an empty body', { fail: { status: 200, body: {} } }, 'malformed_answer'],
  ])('a stream fails with %s', async (_, behaviour, kind) => {
    next(behaviour);
    const failure = await fail(true);
    expect([failure.name, failure.kind]).toEqual(['ProviderFailure', kind]);
    const { journal } = fakes.get(one)!;
    expect(journal).toHaveLength(1);
    // Whatever went wrong, no request is left behind.
    await until('the request ends', async () => journal[0]!.end !== undefined);
  });

  test.each(['text', 'comments'] as const)('a stream of too many events is too long: %s', async (kind) => {
    next({ flood: 400_000, with: kind });
    const before = process.cpuUsage();
    expect(await fail(true)).toMatchObject({
      kind: 'malformed_answer',
      retryable: false,
      message: `${one.title} sent a response that is too long.`,
    });
    // The fake writes them in this process too. It was 24 seconds.
    expect(process.cpuUsage(before).user / 1_000_000).toBeLessThan(5);
    expect(fakes.get(one)!.journal).toHaveLength(1);
  });

  test('a stream may have as many events as tokens that were asked for', async () => {
    next({ flood: 25_000, with: 'text', say: { text: 'The end.' } });
    const [model] = [...listedModels].find(
      ([, { provider, limits }]) => provider === one.provider && (limits?.output ?? 0) > 30_000,
    )!;
    const { answer } = await reply(one, { model, maxTokens: 30_000 }, { isStream: true });
    expect(answer.text).toHaveLength(25_008);
  });

  test('events are passed on together when many arrive', async () => {
    next({ flood: 15_000, with: 'text', say: { text: 'The end.' } });
    const { answer, deltas } = await reply(one, {}, { isStream: true });
    expect(deltas.join('')).toBe(answer.text);
    expect(answer.text.replaceAll('x', '')).toBe('The end.');
    expect(answer.text).toHaveLength(15_008);
    expect(deltas.length).toBeLessThan(1_500);
  });

  test('waits as long as it is asked to', async () => {
    next({ fail: { status: 429, headers: { 'retry-after': '7' }, body: { error: { message: 'x' } } } });
    expect(await fail(true)).toMatchObject({ kind: 'rate_limited', retryable: true, retryAfterMs: 7_000 });
  });

  const interrupts: Record<string, [WireAnswer, FailureKind][]> = {
    ANTHROPIC: [
      [anthropicError(529, 'overloaded_error', 'Overloaded'), 'overloaded'],
      [anthropicError(500, 'api_error', 'x'), 'unavailable'],
    ],
    OPENAI: [
      [openaiError(500, { message: 'x', type: 'server_error' }), 'unavailable'],
      [openaiError(429, { message: 'x', type: 'tokens', code: 'rate_limit_exceeded' }), 'rate_limited'],
    ],
    GOOGLE: [
      [googleError(503, 'UNAVAILABLE', 'The model is overloaded.'), 'overloaded'],
      [googleError(429, 'RESOURCE_EXHAUSTED', 'x'), 'rate_limited'],
    ],
  };
  test.each(interrupts[one.provider]!)('an error within a stream is what it says: %j', async (interrupt, kind) => {
    next({ interrupt });
    expect(await fail(true)).toMatchObject({ name: 'ProviderFailure', kind, retryable: true });
  });

  test.each([false, true])('ends when its time is over, and its request with it; streamed: %s', async (isStream) => {
    next('stall');
    const failure = await fail(isStream, { timeoutMs: 2_000 });
    expect(failure).toMatchObject({ kind: 'timeout', message: `${one.title} did not answer in 2 s.` });
    await until('the request ends', async () => fakes.get(one)!.journal[0]?.end?.by === 'client');
  });

  const changes: [string, (text: string) => string][] = [
    ['arguments', (text) => text.replaceAll('Zwölf', 'Elf')],
    ['a name', (text) => text.replaceAll('memory_read', 'memory_write')],
    ['a signature', (text) => text.replace(/"(thoughtSignature|signature)":"[^"]*"/, '"$1":"eA=="')],
    ['no signature', (text) => text.replace(/,?"(thoughtSignature|signature)":"[^"]*"/, '')],
    ['no id', (text) => text.replace(/"tool_calls":\[\{"id":"[^"]*"/, '"tool_calls":[{"id":"other"')],
  ];
  test('a conversation that is not as it was is refused', async () => {
    next({ say: { calls: [called] } }, { say: { calls: [called] } });
    const [first, second] = [
      (await reply(one, { tools: [tool] })).answer,
      (await reply(one, { tools: [tool] })).answer,
    ];
    const modelMessageOf = ({ content }: ChatAnswer): ChatMessage => ({ role: 'model', content });
    const whole = JSON.stringify(first.content);
    const changed = changes.map(([, change]) => change(whole)).filter((text) => text !== whole);
    // OpenAI signs nothing, and only compares the ids.
    for (const text of one.provider === 'OPENAI' ? changed.slice(-1) : changed) {
      const messages = [...hello, { role: 'model' as const, content: JSON.parse(text) }, resultsOf(first, ['done'])];
      const failure = await reply(one, { messages, tools: [tool] }).catch((error) => error);
      expect(failure).toMatchObject({ kind: 'invalid_request', retryable: false, status: 400 });
    }
    if (one.provider === 'OPENAI') return;
    const order = [second, first].flatMap((answer) => [modelMessageOf(answer), resultsOf(answer, ['done'])]);
    const failure = await reply(one, { messages: [...hello, ...order], tools: [tool] }).catch((error) => error);
    expect(failure).toMatchObject({ kind: 'invalid_request', status: 400 });
  });

  test('the published names and temperatures are as for single prompts', async () => {
    const said: Said = { text: 'Yes.' };
    next({ say: said });
    const published = { ANTHROPIC: 'claude-sonnet-4-20250514', OPENAI: 'gpt-6-luna', GOOGLE: 'gemini-2.0-flash' };
    const { answer } = await reply(one, { model: published[one.provider], temperature: 0.7, maxTokens: 9_999_999 });
    expect(answer).toMatchObject({ text: 'Yes.', ignored: ['temperature'] });
    expect(answer.served!.model).not.toBe(one.provider === 'OPENAI' ? '' : published[one.provider]);
    expect(JSON.stringify(bodyOf(one))).not.toMatch(/temperature|9999999/);
  });
});

describe('what a model wrote wrongly', () => {
  const completion = (args: string): WireAnswer => ({
    status: 200,
    body: {
      choices: [
        {
          finish_reason: 'tool_calls',
          message: {
            content: null,
            tool_calls: [{ id: 'a', type: 'function', function: { name: 'x', arguments: args } }],
          },
        },
      ],
    },
  });

  test.each(['{"a":', '[1]', '"x"', 'null', `{"a":${'['.repeat(100)}${']'.repeat(100)}}`])(
    'arguments %j are a call that cannot be made',
    async (args) => {
      fakes.get(gpt)!.next({ fail: completion(args) });
      const { calls, content } = (await reply(gpt, { tools: [tool] })).answer;
      expect(calls).toEqual([{ id: 'a', name: 'x', args: {}, unreadable: args.slice(0, 200) }]);
      expect(content).toMatchObject({ tool_calls: [{ id: 'a', function: { name: 'x', arguments: '{}' } }] });
    },
  );

  test('no arguments are an empty object', async () => {
    fakes.get(gpt)!.next({ fail: completion('') });
    expect((await reply(gpt, { tools: [tool] })).answer.calls).toEqual([{ id: 'a', name: 'x', args: {} }]);
  });

  test('a call that Gemini could not write may be tried again', async () => {
    fakes
      .get(gemini)!
      .next({ fail: { status: 200, body: { candidates: [{ finishReason: 'MALFORMED_FUNCTION_CALL' }] } } });
    const failure = await reply(gemini, { tools: [tool] }).catch((error) => error);
    expect(failure).toMatchObject({ kind: 'malformed_answer', retryable: true });
  });
});
