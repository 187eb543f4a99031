import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ApiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { inB, makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
afterAll(() => product.close());

const prompt = (id: string, text: string, more = {}) => ({ id, type: 'prompt', prompt: text, ...more });
const transform = (id: string, expression: string) => ({ id, type: 'transform', expression });
const condition = (id: string, expression: string, jumps = {}) => ({ id, type: 'condition', expression, ...jumps });

/** Runs the steps to their end. */
async function run(steps: object[], body: object = {}) {
  const { id } = await makeWorkflow(api, { steps });
  const answer = await api.post(`/v1/workflows/${id}/execute`, body, { 'x-api-variant': 'A' });
  const runId = answer.body.data?.runId ?? answer.body.error.details.runId;
  const detail = (await api.get(`/v1/runs/${runId}`)).body.data;
  return { answer, runId, detail, inB: (await api.get(`/v1/runs/${runId}`, inB)).body.data };
}

const statuses = (of: { stepResults: { status: string }[] }) => of.stepResults.map(({ status }) => status);

describe('transforms', () => {
  test('compute over input, variables and what came before', async () => {
    const steps = [
      transform('total', 'input.items.map(i, i.price * 2)'),
      transform('said', '{"name": variables.name, "first": steps.total.output[0], "n": size(steps.total.output)}'),
    ];
    const { answer, detail } = await run(steps, {
      input: { items: [{ price: 1.5 }, { price: 2 }] },
      variables: { name: 'Ann' },
    });
    expect(detail.output).toEqual({
      result: { name: 'Ann', first: 3, n: 2 },
      steps: { total: [3, 4], said: { name: 'Ann', first: 3, n: 2 } },
    });
    expect(JSON.parse(answer.body.data.output)).toEqual(detail.output.result);
    expect(answer.body.data.tokensUsed).toBe(0);
  });

  test('give JSON as CEL says, whatever their type, and % works on the numbers of JSON', async () => {
    const steps = [
      transform('times', '[timestamp(input.at), timestamp(input.at) + duration("90m")]'),
      transform('rest', '{"d": duration("90m"), "b": b"abc", "u": 5u, "odd": input.n % 2, "isOdd": input.n % 2 == 1}'),
    ];
    const { answer, detail } = await run(steps, { input: { at: '2026-01-31T09:30:00Z', n: 7 } });
    expect(answer.status).toBe(200);
    expect(detail.output.steps).toEqual({
      times: ['2026-01-31T09:30:00Z', '2026-01-31T11:00:00Z'],
      rest: { d: '5400s', b: 'YWJj', u: 5, odd: 1, isOdd: true },
    });
    const failed = await run([transform('t', 'input.n % 2')], { input: { n: 1.5 } });
    expect(failed.inB.error).toMatchObject({
      code: 'expression_error',
      message: 'The operator % takes whole numbers.',
    });
    const refused = await api.post('/v1/workflows', {
      name: 'Refused',
      steps: [transform('a', 'type(input)'), transform('b', 'inptu + 1')],
    });
    expect(refused.body.error.details.errors).toEqual([
      { path: 'steps.0.expression', message: expect.stringMatching(/^The result is not JSON/) },
      { path: 'steps.1.expression', message: expect.stringMatching(/^There is no variable inptu\./) },
    ]);
  });

  test('may stand in `prompt`, as the published step has it', async () => {
    const { answer } = await run([{ id: 't', type: 'transform', prompt: 'input + "!"' }], { input: 'hey' });
    expect(answer.body.data.output).toBe('hey!');
  });

  test('feed prompts, as JSON where they are no texts', async () => {
    const { answer } = await run([transform('t', '[1, input]'), prompt('p', 'got {{steps.t.output}}')], { input: 'x' });
    expect(answer.body.data.output).toContain('got [1,"x"]');
  });

  test.each([
    ['a member that is not there', 'input.nothing', { input: {} }],
    ['a sum of things that have none', 'input + 1', { input: 'a' }],
    [
      'what grows without measure',
      'input.map(x, input.map(y, input))',
      { input: Array.from({ length: 900 }, () => 'x') },
    ],
    ['a loop over too much', 'input.map(x, input.map(y, x))', { input: Array.from({ length: 5_000 }, () => 1) }],
  ])('%s fails the step, not the worker', async (_, expression, body) => {
    const { answer, detail, inB: seenInB } = await run([transform('t', expression), prompt('p', 'never')], body);
    expect(answer).toMatchObject({ status: 500, body: { error: { code: 'internal_error' } } });
    expect(detail).toMatchObject({ status: 'FAILED', output: null });
    expect(seenInB).toMatchObject({ status: 'failed', error: { stepId: 't', code: 'expression_error' } });
    expect(statuses(seenInB)).toEqual(['failed', 'skipped']);
    expect((await run([transform('t', '1')])).answer.body.data.output).toBe('1');
  });
});

describe('conditions', () => {
  const steps = [
    condition('big', 'input > 10', { then: 'large', else: 'small' }),
    prompt('small', 'small {{input}}'),
    condition('done', 'false'),
    prompt('large', 'large {{input}}'),
  ];

  test('jump to where they say when they hold', async () => {
    const { answer, detail, inB: seen } = await run(steps, { input: 11 });
    expect(answer.body.data.output).toMatch(/large 11$/);
    expect(Object.keys(detail.output.steps).sort()).toEqual(['big', 'large']);
    expect(detail.output.steps.big).toBe(true);
    expect(statuses(seen)).toEqual(['completed', 'skipped', 'skipped', 'completed']);
    expect(seen).toMatchObject({ progress: 100, status: 'completed' });
  });

  test('end the run, completed, when they do not and say nothing else', async () => {
    const { answer, inB: seen } = await run(steps, { input: 10 });
    expect(answer.body.data).toMatchObject({ status: 'COMPLETED' });
    // Conditions have an output and are never the result.
    expect(answer.body.data.output).toMatch(/small 10$/);
    expect(seen.output.steps).toMatchObject({ big: false, done: false });
    expect(statuses(seen)).toEqual(['completed', 'completed', 'completed', 'skipped']);
  });

  test('that are all there is leave no result', async () => {
    const { answer, detail } = await run([condition('c', 'true', { then: 'end' }), prompt('p', 'never')]);
    expect(answer.body.data).toMatchObject({ status: 'COMPLETED', tokensUsed: 0 });
    expect(detail.output).toEqual({ result: null, steps: { c: true } });
  });

  test('that are neither true nor false fail', async () => {
    const { inB: seen } = await run([condition('c', 'input')], { input: 'yes' });
    expect(seen).toMatchObject({ status: 'failed', error: { stepId: 'c', code: 'expression_error' } });
  });

  test('decide after a step that takes time as before it', async () => {
    const { detail } = await run([
      transform('a', '1'),
      prompt('wait', 'sandbox:slow=0.2'),
      condition('c', 'steps.a.output == 1 && steps.wait.output.contains("sandbox")', { then: 'last' }),
      prompt('never', 'x'),
      transform('last', '{"a": steps.a.output, "c": steps.c.output}'),
    ]);
    expect(detail.output.result).toEqual({ a: 1, c: true });
    expect(Object.keys(detail.output.steps).sort()).toEqual(['a', 'c', 'last', 'wait']);
  });
});

describe('steps with an outputSchema', () => {
  const outputSchema = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0 } },
    required: ['name', 'age'],
  };

  test('have the value as their output, and conditions look into it', async () => {
    const steps = [
      prompt('who', 'Who is it?', { outputSchema }),
      condition('adult', 'steps.who.output.age >= 0', { else: 'end' }),
      transform('name', 'steps.who.output.name'),
    ];
    const { detail } = await run(steps);
    expect(detail.status).toBe('COMPLETED');
    expect(detail.output.steps.who).toMatchObject({ name: expect.any(String), age: expect.any(Number) });
    expect(detail.output.result).toBe(detail.output.steps.who.name);
  });

  test('keep their schema, as every other member, in the workflow', async () => {
    const steps = [
      {
        ...prompt('a', 'x', { outputSchema, retry: { maxAttempts: 2 } }),
        fallback: [{ provider: 'GOOGLE', model: 'm' }],
      },
      { ...condition('b', 'true', { then: 'c', else: 'end' }), name: 'Really?' },
      transform('c', '1'),
    ];
    const { id } = await makeWorkflow(api, { steps });
    expect((await api.get(`/v1/workflows/${id}`)).body.data.steps).toEqual(steps);
    const [first, ...rest] = (await api.get(`/v1/workflows/${id}`, inB)).body.data.steps;
    expect(first).toEqual({ ...steps[0], name: 'a', type: 'ai_chat' });
    expect(rest).toEqual([steps[1], { ...steps[2], name: 'c' }]);
  });
});

describe('in the sandbox', () => {
  test('a model that is named to fail leaves the step to its fallback', async () => {
    const fallback = [{ provider: 'OPENAI', model: 'gpt-4o' }];
    const named = prompt('p', 'sandbox:fail@claude-sonnet-4-20250514 {{input}}', { fallback });
    const { answer, inB: seen } = await run([named], { input: 'hey' });
    expect(answer.body.data).toMatchObject({ status: 'COMPLETED', output: expect.stringMatching(/gpt-4o .* hey$/) });
    expect(seen.stepResults[0]).toMatchObject({ provider: 'OPENAI', model: 'gpt-4o', attempts: 1 });
  });

  test.each([
    ['sandbox:refuse', 'content_refused'],
    ['sandbox:timeout', 'timeout'],
  ])('%s fails the step with %s', async (text, code) => {
    const { answer, inB: seen } = await run([prompt('p', text)]);
    expect(answer.status).toBe(500);
    expect(seen).toMatchObject({ status: 'failed', error: { stepId: 'p', code } });
  });
});

describe('what is large or hostile', () => {
  test('a hundred steps run, in the order in which they stand', async () => {
    const steps = Array.from({ length: 100 }, (_, n) =>
      transform(`s${n}`, n === 0 ? '[input]' : `steps.s${n - 1}.output + [${n}]`),
    );
    const { detail } = await run(steps, { input: 0 });
    expect(detail.output.result).toEqual(Array.from({ length: 100 }, (_, n) => n));
  });

  test('large outputs are shown by reference, passed on whole, and read where they are', async () => {
    const input = 'x'.repeat(700_000);
    const steps = [
      transform('a', '[input, input]'),
      transform('b', 'steps.a.output + steps.a.output'),
      prompt('wait', 'sandbox:slow=0.1'),
      transform('size', '{"a": size(steps.a.output), "b": size(steps.b.output[3])}'),
      transform('whole', 'steps.b.output'),
    ];
    const { answer, runId, detail, inB: seen } = await run(steps, { input });
    expect(detail.output.steps.size).toEqual({ a: 2, b: 700_000 });
    // The result too, in every answer.
    expect(detail.output.result).toEqual(detail.output.steps.whole);
    expect(JSON.parse(answer.body.data.output)).toEqual(detail.output.steps.whole);
    expect((await api.get(detail.output.result.$ref)).body.data.output).toEqual(Array.from({ length: 4 }, () => input));
    const stream: string = (await api.get(`/v1/runs/${runId}/events`)).body;
    expect(stream.length).toBeLessThan(10_000);
    const variables = {};
    expect(detail.input).toEqual({ input: { $ref: `/api/v1/runs/${runId}/input`, bytes: 700_002 }, variables });
    expect((await api.get(detail.input.input.$ref)).body.data).toEqual({ input, variables });
    const { $ref, bytes } = detail.output.steps.a;
    expect(bytes).toBe(Buffer.byteLength(JSON.stringify([input, input])));
    expect($ref).toBe(`/api/v1/runs/${runId}/outputs/a`);
    expect((await api.get($ref)).body.data).toEqual({ stepId: 'a', output: [input, input] });
    expect(seen.stepResults[0].output).toEqual(seen.output.steps.a);
    expect((await api.get(seen.stepResults[0].output.$ref)).body.data.output).toHaveLength(2);
    const { runs } = (await api.get(`/v1/workflows/${detail.workflowId}/runs`)).body.data;
    expect(runs[0].output.result).toMatchObject({ $ref: `/api/v1/runs/${runId}/outputs/whole` });
    expect(await api.get(`/v1/runs/${runId}/outputs/nothing`)).toMatchObject({ status: 404 });
  });

  test('an input that a workflow without steps returns is shown by reference too', async () => {
    const { answer, runId, detail } = await run([], { input: 'x'.repeat(300_000) });
    const reference = { $ref: `/api/v1/runs/${runId}/input`, bytes: 300_002 };
    expect(detail).toMatchObject({ input: { input: reference }, output: { result: reference, steps: {} } });
    expect(JSON.parse(answer.body.data.output)).toEqual(reference);
  });

  test('what PostgreSQL cannot keep becomes what it can', async () => {
    const steps = [transform('t', String.raw`"a\u0000b" + input.substring(0, 1)`), prompt('p', '{{steps.t.output}}')];
    const { detail } = await run(steps, { input: '😀' });
    expect(detail.status).toBe('COMPLETED');
    expect(detail.output.steps.t).toBe('a\ufffdb\ufffd');
  });

  test('an output beyond all measure fails its step', async () => {
    const input = 'x'.repeat(1_000_000);
    const { inB: seen } = await run([prompt('p', '{{input}}{{input}}{{input}}')], { input });
    expect(seen).toMatchObject({ status: 'failed', error: { stepId: 'p', code: 'expression_error' } });
  });
});
