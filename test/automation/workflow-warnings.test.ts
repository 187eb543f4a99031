import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ApiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { inB } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
afterAll(() => product.close());

const path = '/api/v1/workflows';
const prompt = (id: string, text: string, more = {}) => ({ id, type: 'prompt', prompt: text, ...more });
const transform = (id: string, expression: string, more = {}) => ({ id, type: 'transform', expression, ...more });
const warningsOf = (answer: { body: { data: { warnings?: { path: string; code: string }[] } } }) =>
  (answer.body.data.warnings ?? []).map(({ path, code }) => `${code} ${path}`).sort();

const doubtful = {
  name: 'Doubtful',
  colour: 'red',
  aiModel: 'claude-sonnet-99',
  steps: [
    { id: 'silent', type: 'prompt' },
    prompt('early', 'About {{steps.late.output}} and {{steps.nobody.output}}', { temprature: 1, then: 'end' }),
    transform('t', 'has(steps.late.output) ? steps.late.output : 1', {
      model: 'gpt-4o',
      retry: { maxAttempts: 1, wait: 5 },
    }),
    prompt('late', 'x', {
      model: 'gpt-99',
      fallback: [
        { provider: 'OPENAI', model: 'gpt-4o' },
        { provider: 'OPENAI', model: 'o99', at: 1 },
      ],
    }),
  ],
  inputs: [{ name: 'who', type: 'string', required: false, secret: true }],
};
const expected = [
  'later_step steps.1.prompt',
  'later_step steps.2.expression',
  'missing_prompt steps.0.prompt',
  'unknown_field colour',
  'unknown_field inputs.0.secret',
  'unknown_field steps.1.temprature',
  'unknown_field steps.2.retry.wait',
  'unknown_field steps.3.fallback.1.at',
  'unknown_model aiModel',
  'unknown_model steps.3.fallback.1.model',
  'unknown_model steps.3.model',
  'unknown_step steps.1.prompt',
  'unused_field steps.1.then',
  'unused_field steps.2.model',
  'unused_field steps.2.retry',
];

test('a probable mistake is saved and reported, in both dialects and to a repeated request', async () => {
  const headers = { 'idempotency-key': 'doubtful' };
  const created = await api.post(path, doubtful, headers);
  expect(created).toMatchObject({ status: 201, body: { data: { name: 'Doubtful' } } });
  expect(warningsOf(created)).toEqual(expected);
  expect(created.body.data.warnings.every(({ message }: { message: string }) => /\.$/.test(message))).toBe(true);
  const again = await api.post(path, doubtful, headers);
  expect(again.headers.get('idempotent-replayed')).toBe('true');
  expect(again.body).toEqual(created.body);
  expect(warningsOf(await api.post(path, doubtful, inB))).toEqual(expected);
  const patched = await api.patch(`${path}/${created.body.data.id}`, { steps: doubtful.steps.slice(0, 1), color: 1 });
  expect(warningsOf(patched)).toEqual(['missing_prompt steps.0.prompt', 'unknown_field color']);
});

test('a workflow without doubts has no warnings', async () => {
  const steps = [
    prompt('one', '{{input}} {{anything}}', { model: 'gpt-4o' }),
    transform('two', 'steps.one.output + "!"'),
    { id: 'three', type: 'condition', prompt: 'steps.two.output != ""', then: 'four', else: 'end' },
    { ...prompt('four', '{{steps.two.output}}'), type: 'ai_chat' },
  ];
  for (const body of [{ name: 'Plain' }, { name: 'Sure', steps, isActive: true, config: { any: 1 } }]) {
    const created = await api.post(path, body);
    expect(created.status).toBe(201);
    expect(created.body.data).not.toHaveProperty('warnings');
  }
});

test.each([
  ['a step that there is not', 'steps.nobody.output', 'steps.1.expression'],
  ['itself', '1 + size(steps.t.output)', 'steps.1.expression'],
  ['a later step, in a list', '[steps.late.output].map(x, x)', 'steps.1.expression'],
  ['a later step, by index', 'steps["late"].output', 'steps.1.expression'],
])('an expression that needs %s can never work and is refused', async (_, expression, at) => {
  const steps = [prompt('first', 'x'), transform('t', expression), prompt('late', 'y')];
  expect(await api.post(path, { name: 'Never', steps })).toMatchObject({
    status: 400,
    body: { error: { code: 'validation_error', details: { errors: [{ path: at, message: expect.any(String) }] } } },
  });
});

test('thousands of unknown fields are reported in few words', async () => {
  const fields = Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`field${n}`, n]));
  const created = await api.post(path, { ...fields, name: 'Many', [`long${'x'.repeat(100_000)}`]: 1 });
  expect(created.status).toBe(201);
  expect(created.body.data.warnings).toHaveLength(50);
  expect(JSON.stringify(created.body).length).toBeLessThan(20_000);
});
