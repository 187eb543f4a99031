import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ApiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { inB, makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
afterAll(() => product.close());

const step = (prompt: string, more: object = {}) => ({ steps: [{ id: 'say', type: 'prompt', prompt, ...more }] });

/** An output in dialect A, which is a reference when it is large. */
async function textOf(output: string): Promise<string> {
  if (!output.startsWith('{"$ref"')) return output;
  return (await api.get(JSON.parse(output).$ref)).body.data.output;
}

/** What the model was asked, as the sandbox repeats it, and the warnings of the step. */
async function render(prompt: string, body: object | string, more: object = {}) {
  const { id } = await makeWorkflow(api, step(`<${prompt}>`, more));
  const executed = await api.post(`/v1/workflows/${id}/execute`, body, { 'x-api-variant': 'A' });
  expect(executed).toMatchObject({ status: 200, body: { data: { status: 'COMPLETED' } } });
  const run = await api.get(`/v1/runs/${executed.body.data.runId}`, inB);
  const text = await textOf(executed.body.data.output);
  const warnings: { code: string; name: string }[] = run.body.data.stepResults[0].warnings;
  return { text: text.slice(text.indexOf('<') + 1, text.lastIndexOf('>')), warnings };
}

describe('a template', () => {
  test.each<[string, object, string]>([
    ['{{input}}', { input: 'Ada' }, 'Ada'],
    ['{{input}}', { input: { b: [1, true, null, 'x'] } }, '{"b":[1,true,null,"x"]}'],
    ['{{input}}', { input: [] }, '[]'],
    ['{{input}}', { input: 0 }, '0'],
    ['{{input}}', { input: false }, 'false'],
    ['{{input}}', { input: '' }, ''],
    ['{{input}}', { input: null }, ''],
    ['{{input}}', {}, ''],
    ['{{a}}-{{b}}-{{ a }}', { variables: { a: '1', b: '2' } }, '1-2-1'],
    ['{{n}} {{list}} {{no}}', { variables: { n: 5, list: [1, { two: 2 }], no: null } }, '5 [1,{"two":2}] '],
    ['{{input}} {{input}}', { variables: { input: 'variable' }, input: 'input' }, 'input input'],
    ['{{who}}', { inputs: { who: 'Ada' }, async: false }, 'Ada'],
    ['{{list}}', { inputs: { list: [1, { two: 2 }] }, async: false }, '[1,{"two":2}]'],
    ['{{input}}', { inputs: { who: 'Ada' }, async: false }, '{"who":"Ada"}'],
    ['no names, { single } {{', { input: 'x' }, 'no names, { single } {{'],
    ['ünï 🦊 {{input}}', { input: '日本 👩‍👩‍👧' }, 'ünï 🦊 日本 👩‍👩‍👧'],
  ])('%j with %j reads %j', async (prompt, body, text) => {
    expect(await render(prompt, body)).toEqual({ text, warnings: [] });
  });

  test.each([
    ['{{a}}', { a: '{{b}} {{input}} $& $1', b: 'never' }, '{{b}} {{input}} $& $1'],
    ['{{a}}{{b}}', { a: '{{', b: 'input}}' }, '{{input}}'],
  ])('what fills %j in is never looked at again', async (prompt, variables, text) => {
    expect((await render(prompt, { input: 'never', variables })).text).toBe(text);
  });

  test('an unknown name is empty, and each is reported once', async () => {
    expect(await render('{{nobody}}|{{nobody}}|{{steps.later.output}}', { input: 'x' })).toEqual({
      text: '||',
      warnings: [
        { code: 'unknown_variable', name: 'nobody' },
        { code: 'unknown_variable', name: 'steps.later.output' },
      ],
    });
  });

  test.each(['constructor', '__proto__', 'toString', 'hasOwnProperty', 'steps', 'steps.__proto__.output'])(
    'the name %s means nothing unless the caller gave it a value',
    async (name) => {
      expect(await render(`{{${name}}}`, { input: 'x' })).toEqual({
        text: '',
        warnings: [{ code: 'unknown_variable', name }],
      });
      const given = `{"variables":{${JSON.stringify(name)}:"given"}}`;
      if (!name.startsWith('steps.')) expect((await render(`{{${name}}}`, given)).text).toBe('given');
      const inputs = `{"async":false,"inputs":{${JSON.stringify(name)}:{"deep":1}}}`;
      if (!name.startsWith('steps.')) expect((await render(`{{${name}}}`, inputs)).text).toBe('{"deep":1}');
    },
  );

  test('names are filled into the system prompt too', async () => {
    const { warnings } = await render('x', { variables: { tone: 'kind' } }, { system: 'Be {{tone}} {{missing}}' });
    expect(warnings).toEqual([{ code: 'unknown_variable', name: 'missing' }]);
  });

  test('a step without a prompt passes its input on', async () => {
    const { id } = await makeWorkflow(api, { steps: [{ id: 'pass', type: 'prompt' }] });
    const { body } = await api.post(`/v1/workflows/${id}/execute`, { input: 'passed on' });
    expect(body.data.output).toMatch(/passed on$/);
  });

  test('one that would grow beyond all measure fails its run', async () => {
    const { id } = await makeWorkflow(api, '{{input}}'.repeat(50_000));
    const answer = await api.post(`/v1/workflows/${id}/execute`, { input: 'x'.repeat(500_000) });
    expect(answer).toMatchObject({ status: 500, body: { error: { code: 'internal_error' } } });
    const run = await api.get(`/v1/runs/${answer.body.error.details.runId}`, inB);
    expect(run.body.data).toMatchObject({ status: 'failed', error: { stepId: 'say', code: 'expression_error' } });
  });

  test('half a megabyte of input is ordinary', async () => {
    const input = '0123456789'.repeat(50_000);
    expect(await render('{{input}}', { input })).toEqual({ text: input, warnings: [] });
  });
});

describe('what a run was given', () => {
  test.each<[string, unknown]>([
    ['{"input":"x","variables":{"a":"b"}}', { input: 'x', variables: { a: 'b' } }],
    ['{"input":{"deep":[1,{"__proto__":2}]}}', undefined],
    ['{"input":null}', { input: null, variables: {} }],
    ['{}', { input: null, variables: {} }],
    ['', { input: null, variables: {} }],
    ['{"inputs":{"a":1,"b":{"c":[]}}}', { input: { a: 1, b: { c: [] } }, variables: { a: 1, b: { c: [] } } }],
  ])('by %s is shown as it was', async (body, expected) => {
    const { id } = await makeWorkflow(api, { steps: [] });
    const { data } = (await api.post(`/v1/workflows/${id}/execute`, body, { 'x-api-variant': 'A' })).body;
    const run = await api.get(`/v1/runs/${data.runId}`);
    if (expected) expect(run.body.data.input).toEqual(expected);
    else expect(JSON.stringify(run.body.data.input.input)).toBe('{"deep":[1,{"__proto__":2}]}');
  });

  test.each<[unknown, string]>([
    ['[]', ''],
    ['null', ''],
    ['"text"', ''],
    [{ variables: [] }, 'variables'],
    [{ variables: 'x' }, 'variables'],
    [{ inputs: [] }, 'inputs'],
    [{ inputs: 'x' }, 'inputs'],
    [{ inputs: null }, 'inputs'],
    [{ async: 'yes', input: 1 }, 'async'],
  ])('the body %j is refused, and makes no run', async (body, place) => {
    const { id } = await makeWorkflow(api);
    const answer = await api.post(`/v1/workflows/${id}/execute`, body, { 'x-api-variant': 'A' });
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'validation_error' } } });
    expect(answer.body.error.details.errors[0].path).toBe(place);
    expect((await api.get(`/v1/workflows/${id}`)).body.data.totalRuns).toBe(0);
  });
});

describe('input definitions', () => {
  const define = (...inputs: object[]) => makeWorkflow(api, { steps: [], inputs });
  const execute = (id: string, body: object | string) =>
    api.post(`/v1/workflows/${id}/execute`, body, { 'x-api-variant': 'A' });
  const variablesOf = async (runId: string) => (await api.get(`/v1/runs/${runId}`)).body.data.input.variables;

  test.each(['string', 'number', 'boolean', 'object', 'array'])(
    'a %s is taken, anything else refused',
    async (type) => {
      const { id } = await define({ name: 'value', type, required: true });
      const samples = { string: 'x', number: 1.5, boolean: false, object: { a: 1 }, array: [1] };
      for (const [kind, value] of Object.entries({ ...samples, null: null })) {
        for (const word of ['inputs', 'variables']) {
          const answer = await execute(id, { [word]: { value }, async: false });
          if (kind === type) {
            expect(answer.status).toBe(200);
            expect(await variablesOf(answer.body.data.runId)).toEqual({ value });
          } else {
            expect(answer).toMatchObject({ status: 400, body: { error: { code: 'validation_error' } } });
            expect(answer.body.error.details.errors).toEqual([{ path: 'inputs.value', message: expect.any(String) }]);
          }
        }
      }
    },
  );

  test('every missing required input is named, before a run exists', async () => {
    const required = (name: string) => ({ name, type: 'string', required: true });
    const { id, wf } = await define(required('a'), required('b'), { ...required('c'), required: false });
    for (const body of [{ inputs: {} }, { variables: {} }, {}]) {
      const answer = await execute(id, body);
      expect(answer.body.error.details.errors.map(({ path }: { path: string }) => path)).toEqual([
        'inputs.a',
        'inputs.b',
      ]);
    }
    expect(await api.post(`/v1/workflows/${wf}/execute`, { inputs: { a: '1' } })).toMatchObject({
      status: 400,
      body: { error: { code: 'VALIDATION_ERROR', details: { errors: [{ path: 'inputs.b' }] } } },
    });
    expect((await api.get(`/v1/workflows/${id}`)).body.data.totalRuns).toBe(0);
    expect(await execute(id, { variables: { a: '1', b: '2' } })).toMatchObject({ status: 200 });
  });

  test('defaults fill in what is left out, and what is unknown is kept', async () => {
    const { id } = await define(
      { name: 'tone', type: 'string', required: true, default: 'kind' },
      { name: 'limits', type: 'object', required: false, default: { max: 3 } },
      { name: 'none', type: 'string', required: false },
    );
    const answer = await execute(id, { inputs: { extra: [1] }, async: false });
    const variables = { extra: [1], tone: 'kind', limits: { max: 3 } };
    expect(await variablesOf(answer.body.data.runId)).toEqual(variables);
    expect(JSON.parse(answer.body.data.output)).toEqual(variables);
    const given = await execute(id, { inputs: { tone: '' }, async: false });
    expect(await variablesOf(given.body.data.runId)).toMatchObject({ tone: '' });
  });

  test('an input may have any name', async () => {
    const named = '{"name":"__proto__","type":"object","required":true,"default":{"polluted":1}}';
    const created = await api.post('/v1/workflows', `{"name":"x","steps":[],"inputs":[${named}]}`);
    const { id } = created.body.data;
    const answer = await execute(id, { inputs: {}, async: false });
    expect(answer.body.data.output).toBe('{"__proto__":{"polluted":1}}');
    expect(await execute(id, '{"inputs":{"__proto__":"no object"}}')).toMatchObject({ status: 400 });
  });

  test('a change of the definitions holds for the next run', async () => {
    const { id } = await define();
    expect(await execute(id, {})).toMatchObject({ status: 200 });
    const inputs = [{ name: 'new', type: 'string', required: true }];
    expect(await api.patch(`/v1/workflows/${id}`, { inputs })).toMatchObject({ status: 200 });
    expect((await api.get(`/v1/workflows/${id}`, inB)).body.data.inputs).toEqual(inputs);
    expect(await execute(id, {})).toMatchObject({ status: 400 });
  });
});

test('a hundred steps run in order', async () => {
  const steps = Array.from({ length: 100 }, (_, n) => ({ id: `s${n}`, type: 'prompt', prompt: `${n}` }));
  const { id } = await makeWorkflow(api, { steps });
  const { body } = await api.post(`/v1/workflows/${id}/execute`, { async: true });
  const run = await until('the run has ended', async () => {
    const { data } = (await api.get(`/v1/runs/${body.data.runId}`, inB)).body;
    return data.status === 'completed' && data;
  });
  expect(run.stepResults.map(({ stepId }: { stepId: string }) => stepId)).toEqual(steps.map((one) => one.id));
  expect(run.output.result).toMatch(/ 99$/);
});
