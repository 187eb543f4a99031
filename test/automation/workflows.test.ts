import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sharedProduct } from '../product.ts';
import { inB, makeWorkflow } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
beforeAll(async () => {
  product = await sharedProduct();
});
afterAll(() => product.close());

const path = '/api/v1/workflows';
const randomId = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000';

async function detailOf(id: string) {
  const { status, body } = await product.api.get(`${path}/${id}`);
  expect(status).toBe(200);
  return body.data;
}

test('a created workflow executes to COMPLETED', async () => {
  const { api } = product;
  const created = await api.post('/api/v1/workflows', {
    name: 'Greet',
    steps: [{ id: 'greet', type: 'prompt', prompt: 'Say hello to {{input}} in {{style}}' }],
  });
  expect(created).toMatchObject({ status: 201 });
  const executed = await api.post(`/api/v1/workflows/${created.body.data.id}/execute`, {
    input: 'Ada',
    variables: { style: 'rhyme' },
  });
  expect(executed).toMatchObject({ status: 200, body: { success: true, data: { status: 'COMPLETED' } } });
  expect(executed.body.data.output).toContain('Say hello to Ada in rhyme');
});

/** Every member at any depth with its path, in an order of no importance: nothing is lost on names with a meaning. */
function membersOf(value: unknown, at = '$'): string[] {
  if (typeof value !== 'object' || value === null) return [`${at} ${JSON.stringify(value)}`];
  return [at, ...Object.entries(value).flatMap(([name, member]) => membersOf(member, `${at}.${name}`))].sort();
}

describe('creating', () => {
  test('fills in the published defaults', async () => {
    const { status, body } = await product.api.post(path, { name: 'Bare' });
    expect(status).toBe(201);
    expect(body.data).toMatchObject({ name: 'Bare', description: null, isActive: true, totalRuns: 0 });
    expect(body.data.createdAt).toBe(body.data.updatedAt);
    expect(Date.now() - Date.parse(body.data.createdAt)).toBeLessThan(60_000);
    expect(await detailOf(body.data.id)).toMatchObject({
      aiModel: 'claude-sonnet-4-20250514',
      aiProvider: 'ANTHROPIC',
      steps: [],
      config: {},
    });
  });

  test('keeps what it is given', async () => {
    const fields = {
      name: 'Full',
      description: 'What it does',
      aiModel: 'gpt-4o',
      aiProvider: 'OPENAI',
      isActive: false,
      config: { nested: [1, 'two', null, { three: true }] },
      steps: [
        {
          id: 'a_1',
          type: 'prompt',
          name: 'First',
          prompt: 'x',
          provider: 'GOOGLE',
          model: 'm',
          system: 's',
          temperature: 0.5,
          maxTokens: 9,
        },
        { id: 'b-2', type: 'prompt' },
      ],
    };
    const { id } = await makeWorkflow(product.api, fields);
    expect(await detailOf(id)).toMatchObject(fields);
  });

  // Names that a database driver, a parser or an object literal might take for something of its own.
  test.each([
    '{"__raw":true}',
    '{"__raw":true,"sql":"select 1","params":[]}',
    '{"__proto__":{"polluted":true}}',
    '{"a":{"__proto__":5,"constructor":{"prototype":1}},"toString":"x"}',
    '{"$ne":null,"$$raw":"now()","":"empty","a.b":1,"line\\nbreak":"\\u2028"}',
  ])('stores the configuration %s as it is', async (config) => {
    const created = await product.api.post(path, `{"name":"Verbatim","config":${config}}`);
    expect(created.status).toBe(201);
    expect(membersOf((await detailOf(created.body.data.id)).config)).toEqual(membersOf(JSON.parse(config)));
    const { id } = await makeWorkflow(product.api);
    expect((await product.api.patch(`${path}/${id}`, `{"config":${config}}`)).status).toBe(200);
    expect(membersOf((await detailOf(id)).config)).toEqual(membersOf(JSON.parse(config)));
  });

  test('takes nothing from the body that is not the caller’s to set', async () => {
    const { organizationId } = await product.createTenant();
    const forged = {
      id: randomId,
      organizationId,
      environment: 'live',
      totalRuns: 99,
      createdAt: '2001-01-01T00:00:00Z',
      updatedAt: '2001-01-01T00:00:00Z',
      deletedAt: '2001-01-01T00:00:00Z',
      definitionId: randomId,
      state: 'archived',
      webhookUrl: 'http://evil.example',
    };
    const created = await product.api.post(path, { name: 'Forged', ...forged });
    expect(created).toMatchObject({ status: 201, body: { data: { isActive: true, totalRuns: 0 } } });
    const { id } = created.body.data;
    expect(id).not.toBe(randomId);
    expect((await product.api.patch(`${path}/${id}`, forged)).status).toBe(200);
    const { createdAt, updatedAt } = created.body.data;
    expect(await detailOf(id)).toMatchObject({
      id,
      name: 'Forged',
      isActive: true,
      totalRuns: 0,
      createdAt,
      updatedAt,
    });
    const inB_ = await product.api.get(`${path}/${id}`, inB);
    expect(inB_.body.data.webhookUrl).toContain(id.replaceAll('-', ''));
  });

  test.each([
    ['100 emoji', '🦊'.repeat(100)],
    ['one letter', 'x'],
    ['spaces around', ' x '],
    ['SQL and markup', `'; drop table automation; -- <script>`],
  ])('accepts a name of %s and gives it back', async (_, name) => {
    const { id } = await makeWorkflow(product.api, { name });
    expect((await detailOf(id)).name).toBe(name);
  });

  const step = { id: 'a', type: 'prompt' };

  const transform = { id: 't', type: 'transform', expression: '1' };
  test.each<[string, object, string]>([
    ['no name', { name: undefined }, 'name'],
    ['an empty name', { name: '' }, 'name'],
    ['a name of spaces alone', { name: ' \t\n ' }, 'name'],
    ['a name of 101 characters', { name: 'x'.repeat(101) }, 'name'],
    ['a name of 101 emoji', { name: '🦊'.repeat(101) }, 'name'],
    ['a number for a name', { name: 5 }, 'name'],
    ['a description of 501 characters', { description: 'x'.repeat(501) }, 'description'],
    ['steps that are no array', { steps: {} }, 'steps'],
    ['a step that is null', { steps: [null] }, 'steps.0'],
    ['a step without id', { steps: [{ type: 'prompt' }] }, 'steps.0.id'],
    ['a step id that starts with a digit', { steps: [{ ...step, id: '1a' }] }, 'steps.0.id'],
    ['a step id of 65 characters', { steps: [{ ...step, id: 'a'.repeat(65) }] }, 'steps.0.id'],
    ['the step id `end`', { steps: [{ ...step, id: 'end' }] }, 'steps.0.id'],
    ['tools that are no list', { steps: [step, { ...step, id: 'b', tools: 'memory' }] }, 'steps.1.tools'],
    ['an unknown tool server', { steps: [{ ...step, tools: ['memory', 'x'] }] }, 'steps.0.tools.1'],
    ['a step id with a dot', { steps: [{ ...step, id: 'a.b' }] }, 'steps.0.id'],
    ['a step without type', { steps: [step, { id: 'b' }] }, 'steps.1.type'],
    ['an unknown step type', { steps: [{ ...step, type: 'shell' }] }, 'steps.0.type'],
    ['a condition without expression', { steps: [{ id: 'c', type: 'condition' }] }, 'steps.0.expression'],
    ['a transform that cannot be read', { steps: [step, { ...transform, expression: '1 +' }] }, 'steps.1.expression'],
    ['a transform in its prompt', { steps: [{ id: 't', type: 'transform', prompt: 'inptu' }] }, 'steps.0.prompt'],
    ['a condition that is a number', { steps: [{ ...transform, type: 'condition' }] }, 'steps.0.expression'],
    ['a regular expression', { steps: [{ ...transform, expression: 'input.matches("a")' }] }, 'steps.0.expression'],
    ['a jump back', { steps: [step, { id: 'c', type: 'condition', expression: 'true', then: 'a' }] }, 'steps.1.then'],
    ['a jump nowhere', { steps: [{ id: 'c', type: 'condition', expression: 'true', else: 'b' }] }, 'steps.0.else'],
    ['a schema that is none', { steps: [{ ...step, outputSchema: { type: 'objekt' } }] }, 'steps.0.outputSchema'],
    ['a schema elsewhere', { steps: [{ ...step, outputSchema: { $ref: 'https://a.b/c' } }] }, 'steps.0.outputSchema'],
    ['no attempts at all', { steps: [{ ...step, retry: { maxAttempts: 0 } }] }, 'steps.0.retry.maxAttempts'],
    [
      'a fallback without model',
      { steps: [{ ...step, fallback: [{ provider: 'GOOGLE' }] }] },
      'steps.0.fallback.0.model',
    ],
    ['two steps of one id', { steps: [step, { ...step, id: 'b' }, step] }, 'steps.2.id'],
    ['101 steps', { steps: Array.from({ length: 101 }, (_, n) => ({ ...step, id: `s${n}` })) }, 'steps'],
    ['a prompt that is no text', { steps: [{ ...step, prompt: 5 }] }, 'steps.0.prompt'],
    ['a temperature above 1', { steps: [{ ...step, temperature: 1.1 }] }, 'steps.0.temperature'],
    ['no tokens at all', { steps: [{ ...step, maxTokens: 0 }] }, 'steps.0.maxTokens'],
    ['an unknown provider', { aiProvider: 'MISTRAL' }, 'aiProvider'],
    ['an empty model', { aiModel: '' }, 'aiModel'],
    ['a config that is an array', { config: [] }, 'config'],
    ['a config that is null', { config: null }, 'config'],
    ['isActive as a text', { isActive: 'true' }, 'isActive'],
    ['an unknown status', { status: 'paused' }, 'status'],
    ['inputs without type', { inputs: [{ name: 'a', required: true }] }, 'inputs.0.type'],
    ['inputs of an unknown type', { inputs: [{ name: 'a', required: true, type: 'date' }] }, 'inputs.0.type'],
    [
      'two inputs of one name',
      { inputs: ['string', 'number'].map((type) => ({ name: 'a', type, required: false })) },
      'inputs.1.name',
    ],
    [
      'a default of another type',
      { inputs: [{ name: 'a', type: 'number', required: false, default: 'x' }] },
      'inputs.0.default',
    ],
  ])('refuses %s, on PATCH too, and names the place', async (what, fields, place) => {
    const refusal = { status: 400, body: { success: false, error: { code: 'validation_error' } } };
    const places = (body: { error: { details: { errors: { path: string }[] } } }) =>
      body.error.details.errors.map((error) => error.path);
    const created = await product.api.post(path, { name: 'x', ...fields });
    expect(created).toMatchObject(refusal);
    expect(places(created.body)).toContain(place);
    if (what === 'no name') return;
    const { id } = await makeWorkflow(product.api);
    const before = await detailOf(id);
    const patched = await product.api.patch(`${path}/${id}`, fields);
    expect(patched).toMatchObject(refusal);
    expect(places(patched.body)).toContain(place);
    expect(await detailOf(id)).toEqual(before);
  });

  test('accepts a description of 500 characters, and none', async () => {
    const { id } = await makeWorkflow(product.api, { description: 'ß'.repeat(500) });
    expect((await detailOf(id)).description).toHaveLength(500);
    await product.api.patch(`${path}/${id}`, { description: null });
    expect((await detailOf(id)).description).toBeNull();
  });

  test('accepts 100 steps', async () => {
    const steps = Array.from({ length: 100 }, (_, n) => ({ id: `s${n}`, type: 'prompt', prompt: `${n}` }));
    const { id } = await makeWorkflow(product.api, { steps });
    expect((await detailOf(id)).steps).toEqual(steps);
  });
});

describe('changing', () => {
  test('changes what is given and leaves the rest', async () => {
    const { id } = await makeWorkflow(product.api, { description: 'kept', config: { kept: 1 } });
    const before = await detailOf(id);
    const answer = await product.api.patch(`${path}/${id}`, { name: 'New', aiModel: 'other' });
    expect(answer).toMatchObject({ status: 200, body: { data: { id, name: 'New', aiModel: 'other' } } });
    const { updatedAt } = answer.body.data;
    expect(await detailOf(id)).toEqual({ ...before, name: 'New', aiModel: 'other', updatedAt, version: 2 });
    expect(Date.parse(updatedAt)).toBeGreaterThan(Date.parse(before.updatedAt));
  });

  test('an empty change is a success that changes nothing', async () => {
    const { id } = await makeWorkflow(product.api);
    const before = await detailOf(id);
    const answer = await product.api.patch(`${path}/${id}`, {});
    expect(answer).toMatchObject({ status: 200, body: { data: { id, updatedAt: before.updatedAt } } });
    expect(await detailOf(id)).toEqual(before);
  });

  test('replaces steps and config as a whole', async () => {
    const { id } = await makeWorkflow(product.api, { config: { a: 1 }, steps: [{ id: 'a', type: 'prompt' }] });
    await product.api.patch(`${path}/${id}`, { config: { b: 2 }, steps: [] });
    expect(await detailOf(id)).toMatchObject({ config: { b: 2 }, steps: [] });
    expect((await detailOf(id)).config).not.toHaveProperty('a');
  });

  test('of many changes at once none is lost', async () => {
    const { id } = await makeWorkflow(product.api);
    const changes = [
      { name: 'n' },
      { description: 'd' },
      { aiModel: 'm' },
      { aiProvider: 'GOOGLE' },
      { isActive: false },
      { config: { c: 1 } },
    ];
    const answers = await Promise.all(changes.map((change) => product.api.patch(`${path}/${id}`, change)));
    expect(answers.map(({ status }) => status)).toEqual(changes.map(() => 200));
    expect(await detailOf(id)).toMatchObject(Object.assign({}, ...changes));
  });
});

describe.each([
  ['not-an-id'],
  ['wf_'],
  ['wf_xyz'],
  ['wf_0199'],
  ['123'],
  ['%00'],
  ['%ff'],
  ['%2e%2e%2f'],
  ['run_0199aaaabbbb7ccc8dddeeeeffff0000'],
  ['0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000%20'],
])('the malformed id %s', (id) => {
  test.each(['GET', 'PATCH', 'DELETE'])('is unknown to %s like any other, and named in the answer', async (method) => {
    const body = method === 'PATCH' ? { name: 'x' } : undefined;
    const answer = await product.api.request(method, `${path}/${id}`, body, { 'x-api-variant': 'A' });
    expect(answer).toMatchObject({ status: 404, body: { success: false, error: { code: 'workflow_not_found' } } });
    expect(typeof answer.body.error.details.workflowId).toBe('string');
  });
});

test('a random id is unknown, and named as the caller spelt it', async () => {
  for (const method of ['GET', 'DELETE']) {
    expect(await product.api.request(method, `${path}/${randomId}`)).toMatchObject({
      status: 404,
      body: { error: { code: 'workflow_not_found', details: { workflowId: randomId } } },
    });
  }
});
