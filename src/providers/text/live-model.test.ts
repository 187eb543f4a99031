import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { connect, type LiveAdapter, liveAdapters } from '../../../test/fakes/live-adapters.ts';
import type { FakeProvider, Said } from '../../../test/fakes/wire-server.ts';
import { tenantKeyOf } from '../../../test/platform/tenant-key.ts';
import { until } from '../../../test/until.ts';
import type { TextModel, TextRequest } from '../ports.ts';
import { listedModels, withAliases } from './models.ts';

const adapter = (provider: string): LiveAdapter => liveAdapters.find((one) => one.provider === provider)!;
const call = () => ({ tenantKey: tenantKeyOf('org'), attempt: 1, signal: new AbortController().signal });

const schema = { type: 'object', properties: { answer: { type: 'string', maxLength: 9 } }, required: ['answer'] };
const closed = {
  type: 'object',
  properties: { answer: { type: 'string', description: '{"maxLength":9}' } },
  required: ['answer'],
  additionalProperties: false,
};
const optional = { type: 'object', properties: { answer: { type: 'string' } } };
const free = { type: 'object', additionalProperties: { type: 'string' } };

const whole: Partial<TextRequest> = { system: 'Be brief.', temperature: 0.3, maxTokens: 99 };

describe('what goes over the wire', () => {
  const fakes = new Map<string, FakeProvider>();
  beforeAll(async () => {
    for (const one of liveAdapters) fakes.set(one.provider, await one.start());
  });
  beforeEach(() => {
    for (const fake of fakes.values()) fake.reset();
  });
  afterAll(() => Promise.all([...fakes.values()].map((fake) => fake.close())));

  async function sent(provider: string, model: string, more: Partial<TextRequest> = {}, aliases?: string) {
    const fake = fakes.get(provider)!;
    const adapterModel = connect(adapter(provider), fake, { models: withAliases(aliases) });
    const answer = await adapterModel.generate({ provider, model, prompt: 'Hello', ...more }, call());
    expect(fake.journal).toHaveLength(1);
    const { path, headers, key, body } = fake.journal[0]!;
    expect(key).toBe(fake.apiKey);
    return { path, headers, body, answer };
  }

  test('to Anthropic', async () => {
    const { path, headers, body } = await sent('ANTHROPIC', 'claude-haiku-5-5', { system: 'Be brief.', maxTokens: 99 });
    expect(path).toBe('/v1/messages');
    expect(headers).toMatchObject({ 'anthropic-version': '2026-10-21', 'content-type': 'application/json' });
    expect(body).toEqual({
      model: 'claude-haiku-5-5',
      max_tokens: 99,
      messages: [{ role: 'user', content: 'Hello' }],
      system: 'Be brief.',
    });
  });

  test('to Anthropic, for a model that knows a temperature', async () => {
    const { headers, body, answer } = await sent('ANTHROPIC', 'claude-sonnet-4-6', whole);
    expect(headers['anthropic-version']).toBe('2023-06-01');
    expect(body).toMatchObject({ temperature: 0.3, max_tokens: 99 });
    expect(answer.ignored).toBeUndefined();
  });

  test('to OpenAI', async () => {
    const { path, headers, body } = await sent('OPENAI', 'gpt-4.1', whole);
    expect(path).toBe('/v1/chat/completions');
    expect(headers['openai-organization']).toBeUndefined();
    expect(body).toEqual({
      model: 'gpt-4.1',
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: 'Hello' },
      ],
      temperature: 0.3,
      max_completion_tokens: 99,
    });
  });

  test('to Google', async () => {
    const { path, body } = await sent('GOOGLE', 'gemini-2.5-pro', whole);
    expect(path).toBe('/v1/models/gemini-2.5-pro:generateContent');
    expect(body).toEqual({
      contents: [{ role: 'user', parts: [{ text: 'Hello' }] }],
      systemInstruction: { parts: [{ text: 'Be brief.' }] },
      generationConfig: { temperature: 0.3, maxOutputTokens: 99 },
    });
  });

  test.each([
    ['gemini-3.8-flash', 'v1'],
    ['gemini-3.1-pro-preview', 'v1beta'],
    ['gemini-flash-latest', 'v1beta'],
  ])('to Google, %s where it is: %s', async (model, version) => {
    expect((await sent('GOOGLE', model)).path).toBe(`/${version}/models/${model}:generateContent`);
  });

  const thinkLittle = { generationConfig: { thinkingConfig: { thinkingLevel: 'LOW' }, maxOutputTokens: 99 } };
  test.each<[string, string, string, object]>([
    ['ANTHROPIC', 'claude-sonnet-4-20250514', 'claude-sonnet-5-5', { thinking: { type: 'between_tools' } }],
    ['GOOGLE', 'gemini-2.0-flash', 'gemini-3.5-flash-lite', {}],
    ['GOOGLE', 'gemini-1.5-pro', 'gemini-3.8-flash', thinkLittle],
  ])('%s: the published name %s is served as %s', async (provider, name, upstream, fields) => {
    const { path, body, answer } = await sent(provider, name, whole);
    expect(`${path} ${body.model}`).toContain(upstream);
    expect(body).toMatchObject(fields);
    expect(answer).toMatchObject({ served: { provider, model: upstream }, ignored: ['temperature'] });
    expect(JSON.stringify(body)).not.toContain('temperature');
  });

  test('an alias takes its parameters along', async () => {
    const entry = { provider: 'OPENAI', upstream: 'gpt-6-luna', params: { reasoning_effort: 'none' } };
    const { body } = await sent('OPENAI', 'gpt-4', whole, JSON.stringify({ 'gpt-4': entry }));
    expect(body).toMatchObject({ model: 'gpt-6-luna', reasoning_effort: 'none', temperature: 0.3 });
  });

  test('no more tokens are requested than a model can write, and Anthropic always gets a limit', async () => {
    expect((await sent('OPENAI', 'gpt-4o', { maxTokens: 1_000_000 })).body.max_completion_tokens).toBe(16_384);
    expect((await sent('ANTHROPIC', 'claude-haiku-5-5')).body.max_tokens).toBe(16_384);
    fakes.get('ANTHROPIC')!.reset();
    expect((await sent('ANTHROPIC', 'claude-of-tomorrow', whole)).body).toMatchObject({ max_tokens: 99 });
  });

  test('a schema in each form', async () => {
    const claude = await sent('ANTHROPIC', 'claude-haiku-5-5', { outputSchema: schema });
    expect(claude.body.output_config).toEqual({ format: { type: 'json_schema', schema: closed } });
    const gpt = await sent('OPENAI', 'gpt-4.1', { outputSchema: schema });
    const json_schema = { name: 'output', schema: closed, strict: true };
    expect(gpt.body.response_format).toEqual({ type: 'json_schema', json_schema });
    const gemini = await sent('GOOGLE', 'gemini-3.8-flash', { outputSchema: schema });
    expect(gemini.body.generationConfig).toEqual({ responseMimeType: 'application/json', responseJsonSchema: closed });
  });

  test('OpenAI is not held to strictness where a property is optional', async () => {
    const { body } = await sent('OPENAI', 'gpt-4.1', { outputSchema: optional });
    expect(body.response_format.json_schema.strict).toBe(false);
  });

  test.each(liveAdapters)('$provider is asked in words for what has no form, and its fence is removed', async (one) => {
    fakes.get(one.provider)!.next({ say: { text: '```json\n{"any": "thing"}\n```\n' } });
    const { body, answer } = await sent(one.provider, one.model, { outputSchema: free, system: 'Be brief.' });
    expect(JSON.stringify(body)).toContain('Be brief.\\n\\nAnswer only with one JSON value');
    expect(JSON.stringify(body)).not.toMatch(/output_config|response_format|responseJsonSchema/);
    expect(answer.text).toBe('{"any": "thing"}');
  });

  test('a text with very many newlines costs little, whether it is fenced or not', async () => {
    const lines = '\n'.repeat(20_000);
    const before = process.cpuUsage();
    for (const text of [`\`\`\`\n${lines}x`, `\`\`\`json${lines}{}${lines}\`\`\``, `${lines}\`\`\`${lines}`]) {
      const fake = fakes.get('OPENAI')!;
      fake.reset();
      fake.next({ say: { text } });
      const { answer } = await sent('OPENAI', 'gpt-4.1', { outputSchema: free });
      expect(answer.text).toBe(text.includes('{}') ? '{}' : text);
    }
    // It was minutes.
    expect(process.cpuUsage(before).user / 1_000_000).toBeLessThan(2);
  });

  const spent: Said = { inputTokens: 100, cachedTokens: 60, outputTokens: 50, thinkingTokens: 30 };

  test.each(liveAdapters)(
    '$provider: what was cached and what was thought counts, thoughts are not text',
    async (one) => {
      fakes.get(one.provider)!.next({ say: { ...spent, text: 'Yes.' } });
      const { answer } = await sent(one.provider, one.model);
      expect(answer).toMatchObject({ text: 'Yes.', inputTokens: 100, outputTokens: 50 });
    },
  );

  test.each(liveAdapters)('$provider: a text that reached the limit says so', async (one) => {
    fakes.get(one.provider)!.next({ say: { text: 'Once upon', end: 'limit' } });
    expect((await sent(one.provider, one.model)).answer).toMatchObject({ text: 'Once upon', truncated: true });
  });

  test.each(liveAdapters)('$provider: an empty answer is an answer', async (one) => {
    fakes.get(one.provider)!.next({ say: { text: '' } });
    const { answer } = await sent(one.provider, one.model);
    expect([answer.text, answer.truncated]).toEqual(['', undefined]);
  });
});

describe.each(liveAdapters)('a call of $provider', (one) => {
  let fake: FakeProvider;
  beforeAll(async () => {
    fake = await one.start();
  });
  beforeEach(() => fake.reset());
  afterAll(() => fake.close());

  const generate = (model: TextModel, signal = new AbortController().signal) =>
    model.generate(
      { provider: one.provider, model: one.model, prompt: 'Hello' },
      { tenantKey: tenantKeyOf('org'), attempt: 1, signal },
    );

  test.each(['silence', 'stall'] as const)('ends its HTTP request when it is cancelled: %s', async (behaviour) => {
    fake.next(behaviour);
    const controller = new AbortController();
    const waiting = generate(connect(one, fake), controller.signal);
    const end = waiting.catch((error) => error);
    await until('the request is there', async () => fake.journal[0]?.worked === (behaviour === 'stall'));
    controller.abort();
    expect(await end).toBe(controller.signal.reason);
    await until('the request ends', async () => fake.journal[0]!.end);
    expect(fake.journal).toHaveLength(1);
    expect(fake.journal[0]!.end).toMatchObject({ by: 'client' });
  });

  test.each(['silence', 'stall'] as const)('ends when its time is over: %s', async (behaviour) => {
    fake.next(behaviour);
    const failure = await generate(connect(one, fake, { timeoutMs: 2_000 })).catch((error) => error);
    expect(failure).toMatchObject({
      name: 'ProviderFailure',
      kind: 'timeout',
      retryable: true,
      message: `${one.title} did not answer in 2 s.`,
    });
    expect(fake.journal).toHaveLength(1);
  });

  test('follows no redirect', async () => {
    const elsewhere = createServer((request, response) => {
      expect(request.headers).not.toHaveProperty('authorization');
      response.writeHead(500).end();
    });
    let reached = 0;
    elsewhere.on('request', () => {
      reached += 1;
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    const location = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}/`;
    fake.next({ fail: { status: 307, headers: { location }, body: {} } });
    const failure = await generate(connect(one, fake)).catch((error) => error);
    elsewhere.close();
    expect(failure).toMatchObject({ kind: 'invalid_request', message: expect.stringContaining('HTTP 307') });
    expect(reached).toBe(0);
  });

  test('another address of the same wire is enough', async () => {
    const model = connect(one, fake, { baseUrl: `${fake.origin}/elsewhere` });
    expect(await generate(model).catch((error) => error)).toMatchObject({ retryable: false, status: 404 });
    expect(fake.journal[0]!.path).toMatch(/^\/elsewhere\//);
  });

  test('a name of another provider is refused before anything is sent', async () => {
    const other = liveAdapters.find(({ provider }) => provider !== one.provider)!;
    const asked = { provider: one.provider, model: other.model, prompt: 'Hello' };
    const failure = await connect(one, fake)
      .generate(asked, call())
      .catch((error) => error);
    expect(failure).toMatchObject({ kind: 'invalid_request', message: `${other.model} is a model of ${other.title}.` });
    expect(fake.journal).toEqual([]);
    expect(listedModels.get(other.model)!.provider).toBe(other.provider);
  });

  test.each(['', '../models', 'a b', 'x?key=1', 'x#y', `m${'x'.repeat(300)}`])('%j is no name', async (model) => {
    const asked = { provider: one.provider, model, prompt: 'Hello' };
    const failure = await connect(one, fake)
      .generate(asked, call())
      .catch((error) => error);
    expect(failure).toMatchObject({ kind: 'invalid_request', message: 'The name of the model is not valid.' });
    expect(fake.journal).toEqual([]);
  });
});
