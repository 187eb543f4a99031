import { beforeAll, describe, expect, test } from '@jest/globals';
import type { OpenAI } from 'openai';
import type { ApiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { newHold } from '../hold.ts';
import { until } from '../until.ts';
import { openOpenaiScene, refusalOf } from './scene.ts';

type Body = OpenAI.Responses.ResponseCreateParamsNonStreaming;
type Input = Exclude<Body['input'], string | undefined>;

const scene = openOpenaiScene();
let client: OpenAI;
let api: ApiClient;
beforeAll(() => {
  ({ client, api } = scene);
});

const model = 'gpt-4o';
const refusedWith = (param: string) => ({
  status: 400,
  code: 'validation_error',
  param,
  type: 'invalid_request_error',
});
const notFound = { status: 404, code: 'not_found', param: null, type: 'invalid_request_error' };
const creditsLeft = async () => (await api.get('/api/v1/credits')).body.data.balance as number;
const weather: OpenAI.Responses.FunctionTool = {
  type: 'function',
  name: 'get_weather',
  parameters: { type: 'object', properties: {} },
  strict: false,
};

describe('responses', () => {
  test('answer, are measured and charged, and are read again by their id', async () => {
    const before = await creditsLeft();
    const answer = await client.responses.create({
      model,
      instructions: 'You are terse.',
      input: 'Say hello.',
      metadata: { of: 'nobody' },
    });
    expect(answer).toMatchObject({
      object: 'response',
      status: 'completed',
      model,
      instructions: 'You are terse.',
      metadata: { of: 'nobody' },
      background: false,
      error: null,
    });
    expect(answer.id).toMatch(/^resp_[0-9a-f]{32}$/);
    expect(answer.output_text).toContain('Say hello.');
    const { input_tokens: input, output_tokens: output, total_tokens: total } = answer.usage!;
    expect(total).toBe(input + output);
    expect(await creditsLeft()).toBe(before - 1);
    expect(await client.responses.retrieve(answer.id)).toEqual(answer);

    const unstored = await client.responses.create({ model, input: 'Say hello.', store: false });
    const stranger = scene.clientOf((await scene.product.createTenant()).testKey);
    expect(await refusalOf(client.responses.retrieve(unstored.id))).toEqual(notFound);
    expect(await refusalOf(stranger.responses.retrieve(answer.id))).toEqual(notFound);
    expect(await refusalOf(client.responses.retrieve('resp_nothing'))).toEqual(notFound);
    const other = scene.clientOf(await scene.keyWith('voice'));
    expect(await refusalOf(other.responses.retrieve(answer.id))).toMatchObject({ status: 403 });
  });

  test('stream what they answer whole', async () => {
    const asked = { model, input: 'Say hello.' };
    const whole = await client.responses.create(asked);
    const events: OpenAI.Responses.ResponseStreamEvent[] = [];
    for await (const event of await client.responses.create({ ...asked, stream: true })) events.push(event);
    const types = [...new Set(events.map(({ type }) => type))];
    expect(types).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    expect(events.map((event) => event.sequence_number)).toEqual(events.map((_, index) => index));
    // The helper of the client puts the same together.
    const final = await client.responses.stream(asked).finalResponse();
    expect(final.output_text).toBe(whole.output_text);
    expect(final.usage).toEqual(whole.usage);
    expect((await client.responses.retrieve(final.id)).output).toEqual(
      JSON.parse(JSON.stringify(final.output, (name, value) => (name === 'parsed' ? undefined : value))),
    );
    const failing = await client.responses.create({ model, input: 'sandbox:fail', stream: true });
    const failures: string[] = [];
    for await (const { type } of failing) failures.push(type);
    expect(failures.at(-1)).toBe('response.failed');
  });

  test.each([false, true])('call tools of the caller (stream: %s)', async (streams) => {
    const respond = (body: Body): Promise<OpenAI.Responses.Response> =>
      streams
        ? (client.responses.stream({ ...body, stream: true }).finalResponse() as never)
        : client.responses.create(body);
    const input: Input = [{ role: 'user', content: [{ type: 'input_text', text: 'Which? sandbox:tool=get_weather' }] }];
    const { output } = await respond({ model, input, tools: [weather] });
    const call = output[0] as OpenAI.Responses.ResponseFunctionToolCall;
    expect(call).toMatchObject({ type: 'function_call', name: 'get_weather', arguments: '{}' });
    const { call_id, name, arguments: args, id, status } = call;
    const returned = {
      type: 'function_call' as const,
      call_id,
      name,
      arguments: args,
      ...(id && { id }),
      ...(status && { status }),
    };
    const result = { type: 'function_call_output' as const, call_id, output: 'It rains.' };
    const next = await respond({ model, input: [...input, returned, result], tools: [weather] });
    expect(next.output_text).toContain('It rains.');
    // A conversation goes on with the output of the answer before.
    const more: Input = [...input, returned, result, ...(next.output as Input), { role: 'user', content: 'Thanks.' }];
    if (!streams) expect((await respond({ model, input: more, tools: [weather] })).output_text).toContain('Thanks.');
  });

  test('outlive the connection in the background, and can be cancelled', async () => {
    const before = await creditsLeft();
    const headers = { headers: { 'Idempotency-Key': 'in-the-background' } };
    const hold = newHold(scene.product.database);
    const asked = { model, input: `Say it later. ${hold.word}`, background: true };
    const begun = await client.responses.create(asked, headers);
    expect(begun).toMatchObject({ status: 'in_progress', background: true, output: [] });
    expect((await client.responses.create(asked, headers)).id).toBe(begun.id);
    await hold.release();
    const ended = await until('the response ends', async () => {
      const found = await client.responses.retrieve(begun.id);
      return found.status === 'completed' && found;
    });
    expect(ended.output_text).toContain('Say it later.');
    expect(await creditsLeft()).toBe(before - 1);

    const slow = await client.responses.create({ model, input: 'sandbox:slow=600', background: true });
    const stranger = scene.clientOf((await scene.product.createTenant()).testKey);
    expect(await refusalOf(stranger.responses.cancel(slow.id))).toEqual(notFound);
    expect(await client.responses.cancel(slow.id)).toMatchObject({ id: slow.id, status: 'cancelled' });
    expect(await client.responses.cancel(slow.id)).toMatchObject({ status: 'cancelled' });
    expect(await client.responses.cancel(begun.id)).toMatchObject({ status: 'completed' });
    expect(await creditsLeft()).toBe(before - 1);
    const failed = await client.responses.create({ model, input: 'sandbox:fail', background: true });
    const failure = await until('the response fails', async () => {
      const found = await client.responses.retrieve(failed.id);
      return found.status === 'failed' && found;
    });
    expect(failure.error).toMatchObject({ code: 'server_error', message: expect.any(String) });
  });

  test('answer in the form of a schema', async () => {
    const schema = {
      type: 'object',
      properties: { age: { type: 'integer' } },
      required: ['age'],
      additionalProperties: false,
    };
    const { output_text: text } = await client.responses.create({
      model,
      input: 'Who?',
      text: { format: { type: 'json_schema', name: 'person', schema } },
    });
    expect(JSON.parse(text)).toEqual({ age: expect.any(Number) });
  });

  test('refuse by its name what is not supported', async () => {
    const { id } = await client.responses.create({ model, input: 'Hi' });
    const cases: [object, string][] = [
      [{ previous_response_id: id }, 'previous_response_id'],
      [{ conversation: 'conv_1' }, 'conversation'],
      [{ background: true, store: false }, 'store'],
      [{ reasoning: { effort: 'low' } }, 'reasoning'],
      [{ top_p: 1 }, 'top_p'],
      [{ tools: [{ type: 'web_search' }] }, 'tools[0].type'],
      [{ include: ['reasoning.encrypted_content'] }, 'include'],
      [{ input: '' }, 'input'],
      [{ input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'x' }] }] }, 'input[0].content[0].type'],
      [{ input: [{ role: 'assistant', content: 'Hi' }] }, 'input'],
      [{ model: 'no-such-model' }, 'model'],
    ];
    for (const [more, param] of cases) {
      const body = Object.assign({ model, input: 'Hi' }, more) as Body;
      expect({ param, refusal: await refusalOf(client.responses.create(body)) }).toEqual({
        param,
        refusal: refusedWith(param),
      });
    }
    expect(await refusalOf(client.responses.cancel(id))).toEqual(refusedWith('id'));
  });
});

describe('responses of workflows', () => {
  const echo = { steps: [{ id: 'echo', type: 'transform', expression: '{"said": input, "to": variables.who}' }] };
  const input: Input = [
    { role: 'user', content: 'Earlier' },
    { role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
  ];
  const asked = async (fields: object = echo) => ({
    model: `workflow:${(await makeWorkflow(api, { inputs: [{ name: 'who', type: 'string', required: false }], ...fields })).id}`,
    input,
    metadata: { who: 'Ada' },
  });
  const said = { said: 'Hello', to: 'Ada' };

  test('run with the last message as input, and are read again by their id', async () => {
    const body = await asked();
    const answer = await client.responses.create(body);
    expect(answer).toMatchObject({
      object: 'response',
      status: 'completed',
      model: body.model,
      metadata: body.metadata,
    });
    expect(answer.id).toMatch(/^resp_run_[0-9a-f]{32}$/);
    expect(JSON.parse(answer.output_text)).toEqual(said);
    expect(await client.responses.retrieve(answer.id)).toEqual(answer);
    const final = await client.responses.stream(body).finalResponse();
    expect(JSON.parse(final.output_text)).toEqual(said);

    const unstored = await client.responses.create({ ...body, store: false });
    const stranger = scene.clientOf((await scene.product.createTenant()).testKey);
    const talker = scene.clientOf(await scene.keyWith('chat'));
    expect(await refusalOf(client.responses.retrieve(unstored.id))).toEqual(notFound);
    expect(await refusalOf(client.responses.retrieve('resp_run_nothing'))).toEqual(notFound);
    expect(await refusalOf(stranger.responses.retrieve(answer.id))).toEqual(notFound);
    expect(await refusalOf(talker.responses.retrieve(answer.id))).toMatchObject({ status: 403 });
    expect(await refusalOf(talker.responses.create(body))).toMatchObject({ status: 403 });
    expect(await refusalOf(stranger.responses.create(body))).toMatchObject({ status: 404, code: 'workflow_not_found' });
    const refused = { instructions: 'Be terse.', temperature: 0, max_output_tokens: 5, tools: [weather] };
    for (const [param, value] of Object.entries(refused)) {
      const refusal = await refusalOf(client.responses.create({ ...body, [param]: value } as Body));
      expect(refusal).toEqual(refusedWith(param));
    }
  });

  test('outlive the connection in the background, fail as their runs, and can be cancelled', async () => {
    const headers = { headers: { 'Idempotency-Key': 'workflow-in-the-background' } };
    const body = { ...(await asked()), background: true };
    const begun = await client.responses.create(body, headers);
    expect(begun).toMatchObject({ background: true, output: expect.any(Array) });
    expect((await client.responses.create(body, headers)).id).toBe(begun.id);
    const end = (id: string, status: string) =>
      until(`the response is ${status}`, async () => {
        const found = await client.responses.retrieve(id);
        return found.status === status && found;
      });
    expect(JSON.parse((await end(begun.id, 'completed')).output_text)).toEqual(said);

    const failing = await client.responses.create({
      ...(await asked({ steps: [{ id: 'no', type: 'fail', message: 'Not today.' }] })),
      background: true,
    });
    expect((await end(failing.id, 'failed')).error).toMatchObject({ message: 'Not today.' });

    const waiting = await asked({ steps: [{ id: 'nap', type: 'wait', for: 'P1D' }] });
    const slow = await client.responses.create({ ...waiting, background: true });
    expect(await client.responses.cancel(slow.id)).toMatchObject({ id: slow.id, status: 'cancelled' });
    expect(await client.responses.cancel(begun.id)).toMatchObject({ status: 'completed' });
    const direct = await client.responses.create(await asked());
    expect(await refusalOf(client.responses.cancel(direct.id))).toEqual(refusedWith('id'));
  });
});
