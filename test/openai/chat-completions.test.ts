import { beforeAll, describe, expect, test } from '@jest/globals';
import type { OpenAI } from 'openai';
import type { ApiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { openOpenaiScene, refusalOf } from './scene.ts';

type Body = OpenAI.Chat.ChatCompletionCreateParamsNonStreaming;
type Messages = Body['messages'];

const scene = openOpenaiScene();
let client: OpenAI;
let api: ApiClient;
beforeAll(() => {
  ({ client, api } = scene);
});

const model = 'gpt-4o';
const ask = (content: string): Messages => [{ role: 'user', content }];
const refusedWith = (param: string | null, code = 'validation_error') => ({
  status: 400,
  code,
  param,
  type: 'invalid_request_error',
});
const creditsLeft = async () => (await api.get('/api/v1/credits')).body.data.balance as number;

const weather: OpenAI.Chat.ChatCompletionTool = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Tells the weather.',
    parameters: { type: 'object', properties: { city: { type: 'string' } } },
  },
};

describe('chat completions', () => {
  test('answer with what was measured, and cost what our chat costs', async () => {
    const before = await creditsLeft();
    const { data, response } = await client.chat.completions
      .create({
        model,
        messages: [
          { role: 'system', content: 'You are terse.' },
          { role: 'developer', content: [{ type: 'text', text: 'In English.' }] },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'Say ' },
              { type: 'text', text: 'hello.' },
            ],
          },
        ],
        temperature: 0.5,
        max_completion_tokens: 100,
        metadata: { of: 'nobody' },
      })
      .withResponse();
    expect(data).toMatchObject({ object: 'chat.completion', model, choices: [{ index: 0, finish_reason: 'stop' }] });
    expect(data.id).toMatch(/^chatcmpl-[0-9a-f]{32}$/);
    expect(Math.abs(data.created - Date.now() / 1000)).toBeLessThan(120);
    expect(data.choices[0]!.message.content).toContain('Say hello.');
    const { prompt_tokens: input, completion_tokens: output, total_tokens: total } = data.usage!;
    expect(input).toBeGreaterThan(0);
    expect(total).toBe(input + output);
    expect(response.headers.get('x-credits-used')).toBe('1');
    expect(await creditsLeft()).toBe(before - 1);
  });

  test('stream what they answer whole, with the usage that was asked for', async () => {
    const asked = { model, messages: ask('Say hello.') };
    const whole = await client.chat.completions.create(asked);
    const stream = await client.chat.completions.create({
      ...asked,
      stream: true,
      stream_options: { include_usage: true },
    });
    const chunks: OpenAI.Chat.ChatCompletionChunk[] = [];
    for await (const chunk of stream) chunks.push(chunk);
    expect(chunks.flatMap(({ choices }) => choices.map(({ delta }) => delta.content ?? '')).join('')).toBe(
      whole.choices[0]!.message.content,
    );
    expect(chunks[0]!.choices[0]!.delta.role).toBe('assistant');
    expect(chunks.flatMap(({ choices }) => choices).at(-1)!.finish_reason).toBe('stop');
    expect(chunks.at(-1)).toMatchObject({ choices: [], usage: whole.usage });
    expect(new Set(chunks.map(({ id }) => id)).size).toBe(1);
    // The helper of the client puts the same together.
    const final = await client.chat.completions.stream(asked).finalChatCompletion();
    expect(final.choices[0]!.message.content).toBe(whole.choices[0]!.message.content);
  });

  test.each([false, true])(
    'call tools of the caller, and continue from their results (stream: %s)',
    async (streams) => {
      const complete = (body: Body) =>
        streams
          ? client.chat.completions.stream({ ...body, stream: true }).finalChatCompletion()
          : client.chat.completions.create(body);
      const messages = ask('Which weather? sandbox:tool=get_weather');
      const asked = { model, messages, tools: [weather] };
      const first = (await complete(asked)).choices[0]!;
      expect(first.finish_reason).toBe('tool_calls');
      const [call] = first.message.tool_calls!;
      expect(call).toMatchObject({ type: 'function', function: { name: 'get_weather', arguments: '{}' } });
      const { content, tool_calls: calls } = first.message;
      const result = { role: 'tool' as const, tool_call_id: call!.id, content: 'It rains.' };
      const said: Messages = [...messages, { role: 'assistant', content, tool_calls: calls! }, result];
      const second = (await complete({ ...asked, messages: said })).choices[0]!;
      expect(second.finish_reason).toBe('stop');
      expect(second.message.content).toContain('It rains.');
      if (streams) return;

      // What was called is found again by its id, for its tenant alone, and unchanged.
      const stranger = scene.clientOf((await scene.product.createTenant()).testKey);
      const create = (of: OpenAI, messages: Messages, more: Partial<Body> = {}) =>
        refusalOf(of.chat.completions.create({ ...asked, messages, ...more }));
      expect(await create(stranger, said)).toEqual(refusedWith('messages[1]'));
      expect(await create(client, said, { model: 'gpt-4o-mini' })).toEqual(refusedWith('model'));
      expect(await create(client, said.slice(0, 2))).toEqual(refusedWith('messages'));
      expect(await create(client, [...messages, result])).toEqual(refusedWith('messages[1]'));
      const changed = [
        { ...call!, type: 'function' as const, function: { name: 'get_weather', arguments: '{"city":"Rome"}' } },
      ];
      const other: Messages = [...messages, { role: 'assistant', content, tool_calls: changed }, result];
      expect(await create(client, other)).toEqual(refusedWith('messages[1]'));
    },
  );

  test('answer in the form of a schema', async () => {
    const schema = {
      type: 'object',
      properties: { name: { type: 'string' }, age: { type: 'integer' } },
      required: ['name', 'age'],
      additionalProperties: false,
    };
    const form = (of: Record<string, unknown>): Body => ({
      model,
      messages: ask('Who?'),
      response_format: { type: 'json_schema', json_schema: { name: 'person', schema: of, strict: true } },
    });
    const { choices } = await client.chat.completions.create(form(schema));
    expect(JSON.parse(choices[0]!.message.content!)).toEqual({ name: expect.any(String), age: expect.any(Number) });
    expect(await refusalOf(client.chat.completions.create(form({ type: 'nothing' })))).toEqual(
      refusedWith('response_format.json_schema.schema'),
    );
  });

  test('refuse by its name what is not supported', async () => {
    const cases: [Record<string, unknown>, string][] = [
      [{ top_p: 0.5 }, 'top_p'],
      [{ n: 2 }, 'n'],
      [{ stop: ['.'] }, 'stop'],
      [{ temperature: 1.5 }, 'temperature'],
      [{ logprobs: true }, 'logprobs'],
      [{ tool_choice: 'required' }, 'tool_choice'],
      [{ response_format: { type: 'json_object' } }, 'response_format.type'],
      [{ messages: [] }, 'messages'],
      [{ messages: [{ role: 'user', content: '' }] }, 'messages[0].content'],
      [{ messages: [{ role: 'user', content: 'a', name: 'b' }] }, 'messages[0].name'],
      [
        { messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] },
        'messages[0].content[0].type',
      ],
      [{ messages: [...ask('Hi'), { role: 'system', content: 'No.' }, ...ask('Hi')] }, 'messages[1].role'],
      [{ tools: [{ type: 'function', function: { name: 'a b' } }] }, 'tools[0].function.name'],
      [{ model: 'no-such-model' }, 'model'],
      [{ model: '' }, 'model'],
    ];
    const before = await creditsLeft();
    for (const [more, param] of cases) {
      const body = Object.assign({ model, messages: ask('Hi') }, more) as Body;
      expect({ param, refusal: await refusalOf(client.chat.completions.create(body)) }).toEqual({
        param,
        refusal: refusedWith(param),
      });
    }
    expect(await creditsLeft()).toBe(before);
  });

  test('answer a request with its Idempotency-Key once', async () => {
    const create = (content: string) =>
      client.chat.completions
        .create({ model, messages: ask(content) }, { headers: { 'Idempotency-Key': 'completion-once' } })
        .withResponse();
    const first = await create('Once');
    const before = await creditsLeft();
    const again = await create('Once');
    expect(again.data).toEqual(first.data);
    expect(again.response.headers.get('idempotent-replayed')).toBe('true');
    expect(await creditsLeft()).toBe(before);
    expect(await refusalOf(create('Twice'))).toMatchObject({ status: 422, code: 'idempotency_key_reused' });
  });

  test('report failures of the model in the answer, and in the stream', async () => {
    const outcome = refusalOf(client.chat.completions.create({ model, messages: ask('sandbox:fail') }));
    expect(await outcome).toMatchObject({ status: 500, type: 'server_error', code: 'ai_provider_error' });
    const stream = await client.chat.completions.create({ model, messages: ask('sandbox:fail'), stream: true });
    const read = async () => {
      for await (const _ of stream);
    };
    expect(await refusalOf(read())).toMatchObject({ code: 'ai_provider_error' });
  });
});

describe('workflows as models', () => {
  const greet = {
    inputs: [{ name: 'who', type: 'string', required: true }],
    steps: [{ id: 'greet', type: 'transform', expression: '{"said": input, "to": variables.who}' }],
  };
  const create = (of: OpenAI, id: string, more: object = {}) =>
    of.chat.completions.create({
      model: `workflow:${id}`,
      messages: ask('Hello'),
      metadata: { who: 'Ada' },
      ...more,
    } as Body);

  test('run with the last message as input and the metadata as variables', async () => {
    const { id } = await makeWorkflow(api, greet);
    const { choices, model: named } = await create(client, id);
    expect(named).toBe(`workflow:${id}`);
    expect(JSON.parse(choices[0]!.message.content!)).toEqual({ said: 'Hello', to: 'Ada' });
    const streamed = await client.chat.completions
      .stream({ model: `workflow:${id}`, messages: ask('Hello'), metadata: { who: 'Ada' } })
      .finalChatCompletion();
    expect(streamed.choices[0]!.message.content).toBe(choices[0]!.message.content);
    expect(await refusalOf(create(client, id, { metadata: {} }))).toEqual(refusedWith('metadata.who'));
    expect(await refusalOf(create(client, id, { temperature: 0 }))).toEqual(refusedWith('temperature'));
  });

  test('are found by their tenant alone, while they are active, with the scope that executes', async () => {
    const { id } = await makeWorkflow(api, greet);
    const notFound = { status: 404, code: 'workflow_not_found', param: null, type: 'invalid_request_error' };
    const stranger = scene.clientOf((await scene.product.createTenant()).testKey);
    expect(await refusalOf(create(stranger, id))).toEqual(notFound);
    expect(await refusalOf(create(client, 'nothing'))).toEqual(notFound);
    const talker = scene.clientOf(await scene.keyWith('chat'));
    expect(await refusalOf(create(talker, id))).toMatchObject({ status: 403, type: 'permission_error' });
    await api.patch(`/api/v1/workflows/${id}`, { isActive: false });
    expect(await refusalOf(create(client, id))).toEqual(notFound);
  });

  test('fail as their runs fail', async () => {
    const { id } = await makeWorkflow(api, { steps: [{ id: 'no', type: 'fail', message: 'Not today.' }] });
    expect(await refusalOf(create(client, id, { metadata: {} }))).toMatchObject({ status: 500, type: 'server_error' });
  });
});
