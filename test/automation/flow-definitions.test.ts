import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { ApiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { endOf, inB } from './make-workflow.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
  // The guide's example names it: without it the save would warn.
  expect((await api.request('PUT', '/api/v1/secrets/CRM_TOKEN', { value: 'a-secret-of-the-guide' })).status).toBe(200);
});
afterAll(() => product.close());

const path = '/api/v1/workflows';
type Step = Record<string, unknown>;
const save = (...steps: Step[]) => api.post(path, { name: 'Flow', steps }, inB);
const compute = (id: string, expression = '1'): Step => ({ id, type: 'transform', expression });
const map = (id: string, steps: Step[], more: Step = {}): Step => ({
  id,
  type: 'map',
  items: '[1, 2]',
  steps,
  ...more,
});
const parallel = (id: string, ...lists: Step[][]): Step => ({
  id,
  type: 'parallel',
  branches: lists.map((steps, index) => ({ id: `b${index}`, steps })),
});

const flow = [
  { id: 'list', type: 'transform', expression: '[{"n": 1}, {"n": 2}]' },
  map(
    'each',
    [
      { id: 'double', type: 'transform', expression: 'item.n * 2 + index' },
      {
        id: 'say',
        type: 'ai_chat',
        prompt: '{{index}} of {{total}}: {{item.n}} {{steps.double.output}} {{steps.list.output.0.n}}',
      },
    ],
    { items: 'steps.list.output', mode: 'settled', concurrency: 2 },
  ),
  parallel('both', [{ id: 'pause', type: 'wait', for: 'PT0.01S' }], [compute('quick', 'steps.each.output.total')]),
];

test('a flow is saved, shown as it was sent, and executed', async () => {
  const created = await save(...flow);
  expect(created).toMatchObject({ status: 201 });
  expect(created.body.data).not.toHaveProperty('warnings');
  const { id } = created.body.data;
  const inDialectA = (await api.get(`${path}/${id}`, { 'x-api-variant': 'A' })).body.data;
  expect(inDialectA.steps[1]).toEqual({
    ...flow[1],
    steps: [(flow[1] as { steps: Step[] }).steps[0], { ...(flow[1] as { steps: Step[] }).steps[1], type: 'prompt' }],
  });
  const inDialectB = (await api.get(`${path}/${id}`, inB)).body.data;
  expect(inDialectB.steps[1]).toMatchObject({
    name: 'each',
    steps: [{ name: 'double' }, { name: 'say', type: 'ai_chat' }],
  });
  const started = await api.post(`${path}/${id}/execute`, { input: null, async: true }, inB);
  const run = await endOf(api, started.body.data.runId);
  expect(run).toMatchObject({ status: 'completed' });
  expect(run.output.steps.each.outputs[1]).toContain('1 of 2: 2 5 1');
  expect(run.output.result.results.b1.output).toBe(2);
  const places = run.stepResults.map(({ stepId, path: at, counts }: Step) => ({ stepId, path: at, counts }));
  expect(places).toContainEqual({ stepId: 'each', path: undefined, counts: { total: 2, succeeded: 2, failed: 0 } });
  expect(places).toContainEqual({ stepId: 'double', path: ['each', 1, 'double'], counts: undefined });
  expect(Object.keys(run.output.steps)).toEqual(['list', 'each', 'both']);
  const outputs = `/api/v1/runs/${started.body.data.runId}/outputs`;
  expect((await api.get(`${outputs}/double?path=each.1.double`)).body.data).toEqual({ stepId: 'double', output: 5 });
  expect((await api.get(`${outputs}/list`)).status).toBe(200);
  expect((await api.get(`${outputs}/double`)).status).toBe(404);
});

test('steps of a flow that were not reached are skipped, and those of a large map are shown up to a limit', async () => {
  const created = await save(
    map('each', [compute('n', 'index')], { items: 'input', concurrency: 20 }),
    { id: 'stop', type: 'condition', expression: 'size(steps.each.output.outputs) > 1000' },
    compute('never'),
  );
  expect(created).toMatchObject({ status: 201 });
  const { id } = created.body.data;
  const input = Array.from({ length: 299 }, (_, n) => n);
  const started = await api.post(`${path}/${id}/execute`, { input, async: true }, inB);
  const run = await endOf(api, started.body.data.runId);
  expect(run).toMatchObject({ status: 'completed' });
  const own = run.stepResults.filter((step: Step) => step.path === undefined);
  expect(own.map(({ stepId, status }: Step) => [stepId, status])).toEqual([
    ['each', 'completed'],
    ['stop', 'completed'],
    ['never', 'skipped'],
  ]);
  expect(run.stepResults.length).toBeLessThanOrEqual(202);
});

describe('what cannot work is refused, with its place:', () => {
  test.each<[string, Step[], string]>([
    ['an id twice, in different lists', [compute('a'), map('m', [compute('a')])], 'steps.1.steps.0.id'],
    [
      'a jump out of its list',
      [map('m', [{ id: 'c', type: 'condition', expression: 'true', then: 'z' }]), compute('z')],
      'steps.0.steps.0.then',
    ],
    [
      'a branch id twice',
      [
        {
          id: 'p',
          type: 'parallel',
          branches: [
            { id: 'x', steps: [compute('a')] },
            { id: 'x', steps: [compute('b')] },
          ],
        },
      ],
      'steps.0.branches.1.id',
    ],
    ['one branch', [parallel('p', [compute('a')])], 'steps.0.branches'],
    ['an empty list', [map('m', [])], 'steps.0.steps'],
    [
      'containers four deep',
      [map('m', [map('n', [map('o', [map('p', [compute('a')])])])])],
      'steps.0.steps.0.steps.0.steps.0',
    ],
    [
      'more than 100 steps in all',
      [
        map(
          'm',
          Array.from({ length: 60 }, (_, n) => compute(`a${n}`)),
        ),
        map(
          'n',
          Array.from({ length: 60 }, (_, n) => compute(`b${n}`)),
        ),
      ],
      'steps',
    ],
    ['concurrency above 20', [map('m', [compute('a')], { concurrency: 21 })], 'steps.0.concurrency'],
    ['items that are no list', [map('m', [compute('a')], { items: '"text"' })], 'steps.0.items'],
    ['an item outside a map', [compute('a', 'item.n')], 'steps.0.expression'],
    [
      'what a sibling branch made',
      [parallel('p', [compute('a')], [compute('b', 'steps.a.output')])],
      'steps.0.branches.1.steps.0.expression',
    ],
    ['what is inside a container', [map('m', [compute('a')]), compute('b', 'steps.a.output')], 'steps.1.expression'],
    ['a wait for and until', [{ id: 'w', type: 'wait', for: 1, until: '2030-01-01T00:00:00Z' }], 'steps.0.until'],
    ['a wait for nothing', [{ id: 'w', type: 'wait' }], 'steps.0.for'],
    ['a wait of two years', [{ id: 'w', type: 'wait', for: 'P730D' }], 'steps.0.for'],
    ['a wait that is no duration', [{ id: 'w', type: 'wait', for: '3h2d' }], 'steps.0.for'],
    ['until on February 30', [{ id: 'w', type: 'wait', until: '2030-02-30T00:00:00Z' }], 'steps.0.until'],
    ['until without an offset', [{ id: 'w', type: 'wait', until: '2030-01-01T00:00:00' }], 'steps.0.until'],
    [
      'a match that is no truth',
      [{ id: 'e', type: 'event', event: 'order.paid', match: 'event.id + "x"' }],
      'steps.0.match',
    ],
    ['a timeout above 90 days', [{ id: 'e', type: 'event', event: 'order.paid', timeout: 'P91D' }], 'steps.0.timeout'],
    [
      'a header that the connection sets',
      [{ id: 'h', type: 'http', url: 'https://example.com', headers: { Host: 'x' } }],
      'steps.0.headers.Host',
    ],
    [
      'a secret for any host',
      [{ id: 'h', type: 'http', url: 'https://{{input}}/', secretHeaders: { Authorization: 'TOKEN' } }],
      'steps.0.url',
    ],
    ['a code in capitals', [{ id: 'f', type: 'fail', message: 'no', code: 'NO' }], 'steps.0.code'],
    ['an unknown type', [{ id: 'x', type: 'dance' }], 'steps.0.type'],
    [
      'a payload that its endpoint refuses',
      [map('m', [{ id: 'i', type: 'image', payload: {} }])],
      'steps.0.steps.0.payload.prompt',
    ],
  ])('%s', async (_, steps, at) => {
    const answer = await save(...steps);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'VALIDATION_ERROR' } } });
    const paths = answer.body.error.details.errors.map((one: { path: string }) => one.path);
    expect(paths).toContain(at);
  });
});

test('a probable mistake is reported, with its place', async () => {
  const created = await save(
    map('m', [{ id: 'say', type: 'prompt', prompt: '{{steps.late.output}} {{steps.nobody.output}}', colour: 1 }], {
      color: 2,
    }),
    compute('late'),
    { id: 'h', type: 'http', url: 'https://example.com/{{steps.say.output}}' },
  );
  expect(created.status).toBe(201);
  const warnings = created.body.data.warnings.map(
    ({ path: at, code }: { path: string; code: string }) => `${code} ${at}`,
  );
  expect(warnings.sort()).toEqual([
    'later_step steps.0.steps.0.prompt',
    'later_step steps.2.url',
    'unknown_field steps.0.color',
    'unknown_field steps.0.steps.0.colour',
    'unknown_step steps.0.steps.0.prompt',
  ]);
});

const guide = readFileSync(new URL('../../docs/flows.md', import.meta.url), 'utf8');
const documented = [...guide.matchAll(/(?<=\n\n)(?: {4}[ {].*\n)+/g)]
  .map(([block]) => block.trim())
  .filter((block) => block.startsWith('{"id"'))
  .map((block): [string, Step] => [block.slice(0, 40), JSON.parse(block)]);

test('the guide has examples', () => expect(documented.length).toBeGreaterThan(6));

test.each(documented)('the step of the guide %s can be saved', async (_, step) => {
  const created = await save(step);
  expect(created).toMatchObject({ status: 201 });
  // The workflow that the guide starts is not there.
  const warnings = (created.body.data.warnings ?? []) as { code: string }[];
  expect(warnings.filter(({ code }) => code !== 'unknown_workflow')).toEqual([]);
});
