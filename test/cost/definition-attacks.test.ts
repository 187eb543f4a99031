import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { until } from '../until.ts';
import { type MeasuredProduct, startMeasured } from './measured-product.ts';
import { exchange } from './requests.ts';

// What a definition of one organization, its events and its documents may cost the others.
jest.setTimeout(200_000);

let product: MeasuredProduct;
beforeAll(async () => {
  product = await startMeasured();
});
afterAll(() => product.close());

const list = (length: number) => Array.from({ length }, (_, index) => index);
const headersOf = (type = 'application/json') => ({ authorization: `Bearer ${product.testKey}`, 'content-type': type });
const send = (method: string, path: string, body?: unknown) =>
  exchange(product.process.api, {
    method,
    path,
    headers: headersOf(),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
const create = async (steps: object[]): Promise<string> =>
  (await product.api.post('/api/v1/workflows', { name: `W${Math.random()}`, steps })).body.data.id;

const namingMany = list(45_000)
  .map((index) => `{{steps.a${index}.output}}`)
  .join('')
  .slice(0, 990_000);

test('a prompt that names 45,000 steps which do not exist has few warnings', async () => {
  const { walk } = product;
  const steps = [{ id: 'say', type: 'prompt', prompt: namingMany }];
  for (const [door, path] of [
    ['POST /api/v1/workflows', '/api/v1/workflows'],
    ['POST /api/v1/workflows/validate', '/api/v1/workflows/validate'],
    ['POST /api/v1/workflows/import', '/api/v1/workflows/import'],
  ] as const) {
    const body = path.endsWith('import') ? { atelier: 1, name: 'Named', steps } : { name: 'Named', steps };
    await walk.send({ door, name: '45,000 unknown steps' }, () => send('POST', path, body));
  }
  expect(walk.takeExcesses()).toEqual([]);
});

test('a member with a long name that changes in many places does not make the list of versions long', async () => {
  const { walk } = product;
  const stepOf = (value: number) => ({
    id: 'ask',
    type: 'http',
    url: 'https://example.com/',
    body: { ['n'.repeat(900_000)]: Object.fromEntries(list(60).map((index) => [`k${index}`, value])) },
  });
  const id = await create([stepOf(0)]);
  let value = 0;
  await walk.send({ door: 'PATCH /api/v1/workflows/{id}', name: 'many changes below a long name' }, () =>
    send('PATCH', `/api/v1/workflows/${id}`, { steps: [stepOf(++value)] }),
  );
  await walk.send({ door: 'GET /api/v1/workflows/{id}/versions', name: 'many changes below a long name' }, () =>
    send('GET', `/api/v1/workflows/${id}/versions`),
  );
  expect(walk.takeExcesses()).toEqual([]);
});

test('an event that a trigger copies a hundred times is not a hundred times as large', async () => {
  const { walk } = product;
  const inputs = Object.fromEntries(list(100).map((index) => [`v${index}`, 'event.data']));
  for (const index of list(5)) {
    const id = await create([{ id: 't', type: 'transform', expression: '1' }]);
    const { status } = await product.api.request('PUT', `/api/v1/workflows/${id}/triggers`, {
      triggers: list(2).map((other) => ({ event: 'copied.often', inputs, filter: `${index} < 10 && ${other} < 10` })),
    });
    expect(status).toBe(200);
  }
  await walk.send({ door: 'POST /api/v1/events', name: 'copied a hundred times' }, () =>
    send('POST', '/api/v1/events', { name: 'copied.often', data: { text: 'é"\\'.repeat(40_000) } }),
  );
  expect(walk.takeExcesses()).toEqual([]);
});

test('a form with a long name and many faults is refused in few words', async () => {
  const { walk } = product;
  const faults = { type: 'object', properties: Object.fromEntries(list(30).map((n) => [`k${n}`, { type: 'number' }])) };
  const form = { type: 'object', properties: {}, additionalProperties: faults };
  const id = await create([{ id: 'ask', type: 'approval', message: 'May it?', form }]);
  await product.api.post(`/api/v1/workflows/${id}/execute`, { input: 'x', async: true });
  const { id: approval } = await until('the approval is open', async () => {
    const { approvals } = (await product.api.get('/api/v1/approvals')).body.data;
    return approvals[0];
  });
  const values = { ['n'.repeat(900_000)]: Object.fromEntries(list(30).map((n) => [`k${n}`, 'x'])) };
  await walk.send({ door: 'POST /api/v1/approvals/{id}/respond', name: 'many faults below a long name' }, () =>
    send('POST', `/api/v1/approvals/${approval}/respond`, { action: 'approve', values }),
  );
  expect(walk.takeExcesses()).toEqual([]);
});

test('a list of approvals with large forms, messages and answers has at most 2 MiB', async () => {
  const { walk, api } = product;
  const properties = { note: { type: 'string', description: 'd'.repeat(30_000) } };
  const form = { type: 'object', properties };
  const id = await create([{ id: 'ask', type: 'approval', message: '{{input}}', form }]);
  for (const index of list(45)) {
    await api.post(`/api/v1/workflows/${id}/execute`, { input: `${index} ${'\u0001é'.repeat(9_000)}`, async: true });
  }
  const listed = await until('they are open', async () => {
    const { approvals } = (await api.get(`/api/v1/approvals?limit=100&workflowId=${id}`)).body.data;
    return approvals.length === 45 && approvals;
  });
  const values = { note: 'v'.repeat(300_000) };
  for (const one of listed) {
    const { status } = await api.post(`/api/v1/approvals/${one.id}/respond`, { action: 'approve', values });
    expect(status).toBe(200);
  }
  const path = `/api/v1/approvals?limit=100&workflowId=${id}`;
  await walk.send({ door: 'GET /api/v1/approvals', name: 'large answers' }, () => send('GET', path));
  const [first] = (await api.get(path)).body.data.approvals;
  expect(first.response.values).toEqual({ $ref: `/api/v1/approvals/${first.id}`, bytes: 300_011 });
  expect((await api.get(first.response.values.$ref)).body.data.response.values).toEqual(values);
  expect(walk.takeExcesses()).toEqual([]);
});

test('documents that name workflows by the ten thousand are refused before they are looked for', async () => {
  const { walk } = product;
  const steps = list(9_000).map((index) => ({ id: `s${index}`, type: 'workflow', workflowId: { $name: `n${index}` } }));
  await walk.send({ door: 'POST /api/v1/workflows/import', name: '9,000 names' }, () =>
    send('POST', '/api/v1/workflows/import', { atelier: 1, name: 'Names', steps }),
  );
  expect(walk.takeExcesses()).toEqual([]);
});

const yamls: Record<string, string> = {
  'keys that are collections': '? [a]\n: 1\n'.repeat(60_000),
  'deep flow': `${'['.repeat(400_000)}${']'.repeat(400_000)}`,
  'deep blocks': list(1_200)
    .map((depth) => `${' '.repeat(depth)}a:\n`)
    .join(''),
  'many anchors': list(50_000)
    .map((index) => `- &a${index} x\n`)
    .join(''),
  'aliases of aliases': list(9)
    .map((index) => `a${index}: &a${index} [${index === 0 ? 'x' : list(9).map(() => `*a${index - 1}`)}]\n`)
    .join(''),
  'one key often': 'a: 1\n'.repeat(180_000),
  'long scalars over lines': `a: "${'x\n  '.repeat(220_000)}"`,
  comments: '# x\n'.repeat(240_000),
  documents: '--- a\n'.repeat(150_000),
  tags: list(40_000)
    .map((index) => `- !t${index} x\n`)
    .join(''),
};

test.each(Object.keys(yamls))('YAML of %s is read beside the main thread', async (name) => {
  const { walk } = product;
  await walk.send({ door: 'POST /api/v1/workflows/import', name: `YAML: ${name}` }, () =>
    exchange(product.process.api, {
      method: 'POST',
      path: '/api/v1/workflows/import',
      body: yamls[name]!,
      headers: headersOf('application/yaml'),
    }),
  );
  expect(walk.takeExcesses()).toEqual([]);
});
