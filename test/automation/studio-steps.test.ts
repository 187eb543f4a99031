import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { reserveCredits } from '../../src/credits/index.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { creditsOf, fileAt } from '../studio/files.ts';
import { until } from '../until.ts';
import { endOf, makeWorkflow } from './make-workflow.ts';

let product: StartedProduct;
let api: ApiClient;
let organizationId: string;
beforeAll(async () => {
  product = await sharedProduct();
  const tenant = await product.createTenant({ plan: 'enterprise' });
  api = apiClient(product.process.api, tenant.testKey);
  ({ organizationId } = tenant);
});
afterAll(() => product.close());

const inA = { 'x-api-variant': 'A' };

async function executed(on: ApiClient, steps: object[], input: unknown): Promise<{ runId: string }> {
  const { id } = await makeWorkflow(on, { steps });
  return (await on.post(`/v1/workflows/${id}/execute`, { async: true, input }, inA)).body.data;
}

const start = async (steps: object[], input: unknown = null) => (await executed(api, steps, input)).runId;

const run = async (steps: object[], input?: unknown) => endOf(api, await start(steps, input));
const image = (payload: object, id = 'draw') => ({ id, type: 'image', payload });
const generation = async (id: string) => (await api.get(`/api/studio/generations/${id}`)).body.data;

test('an image is the generation of the endpoint: its record is the output, it is charged once, and the history has it', async () => {
  const before = await creditsOf(api);
  const payload = { prompt: '{{input.what}} at dusk', seed: '{{input.seed}}', quality: 'high' };
  const steps = [image(payload), { id: 'more', type: 'upscale', payload: { imageUrl: '{{steps.draw.output.url}}' } }];
  const { status, output, error } = await run(steps, { what: 'A lighthouse', seed: 7 });
  expect([status, error]).toEqual(['completed', undefined]);
  const { draw, more } = output.steps;
  expect(draw).toMatchObject({ prompt: 'A lighthouse at dusk', seed: 7, width: 1024, creditsUsed: 2 });
  expect(more).toMatchObject({ originalWidth: 1024, newWidth: 2048, scale: 2, creditsUsed: 1 });
  expect(await generation(draw.id)).toMatchObject({ status: 'completed', seed: 7, prompt: 'A lighthouse at dusk' });
  const after = await creditsOf(api);
  expect([before.balance - after.balance, after.reserved]).toEqual([3, 0]);
  expect((await fileAt(more.url)).byteLength).toBeGreaterThan(1_000);
});

test('in a map each item has its own, and music and a cut-out are made too', async () => {
  const draw = image({ prompt: 'A {{item}}' });
  const cut = { id: 'cut', type: 'remove_bg', payload: { imageUrl: '{{steps.draw.output.url}}' } };
  const play = { id: 'play', type: 'music', payload: { prompt: 'A calm waltz', duration: 10 } };
  const each = { id: 'each', type: 'map', items: 'input', steps: [draw, cut] };
  const { status, output, error } = await run([each, play], ['boat', 'house']);
  expect([status, error]).toEqual(['completed', undefined]);
  expect(output.steps.each.outputs).toEqual(
    [1, 2].map(() => expect.objectContaining({ format: 'png', creditsUsed: 1 })),
  );
  expect(output.steps.play).toMatchObject({ format: 'mp3', creditsUsed: 3 });
});

test.each([
  ['refuses the content', { prompt: 'sandbox:refuse' }, 'content_refused'],
  ['fails', { prompt: 'sandbox:fail' }, 'service_unavailable'],
  ['does not finish', { prompt: 'sandbox:timeout' }, 'timeout'],
  ['is asked for what it does not make', { prompt: 'A boat', aspectRatio: '{{input}}' }, 'invalid_payload'],
  ['is asked for nothing', { prompt: '{{input.nothing}}' }, 'invalid_payload'],
])('a model that %s fails the step, and nothing is charged', async (_, payload, code) => {
  const before = await creditsOf(api);
  const { status, error } = await run([image(payload)], 'a circle');
  expect([status, error.code, error.stepId]).toEqual(['failed', code, 'draw']);
  expect(await creditsOf(api)).toEqual(before);
});

test('what a step has spent stays spent when its run fails later', async () => {
  const before = await creditsOf(api);
  const refuse = { id: 'refuse', type: 'fail', message: 'On purpose.' };
  const { status, error } = await run([image({ prompt: 'A boat' }), refuse]);
  expect([status, error.stepId]).toEqual(['failed', 'refuse']);
  const after = await creditsOf(api);
  expect([before.balance - after.balance, after.reserved]).toEqual([1, 0]);
});

test('credits that are missing fail the step', async () => {
  const { organizationId: id, testKey } = await product.createTenant({ plan: 'pro' });
  const poor = apiClient(product.process.api, testKey);
  await creditsOf(poor);
  const scope = new Scope(
    product.database,
    { organizationId: organizationIds.parse(id)!, environment: 'test' },
    'steps',
  );
  const rest = { operation: 'image', key: 'everything else', amount: 10_000 } as const;
  await reserveCredits(scope, { ...rest, expiresInMs: 3_600_000 });
  const { runId } = await executed(poor, [image({ prompt: 'A boat' })], null);
  expect((await endOf(poor, runId)).error).toMatchObject({ code: 'insufficient_credits', stepId: 'draw' });
});

test('what can never work is refused when it is saved, with its place; what depends on values is not', async () => {
  const saved = (payload: object) => api.post('/v1/workflows', { name: 'x', steps: [image(payload)] }, inA);
  const refused = await saved({ prompt: 'A boat', aspectRatio: '16:10', quality: 'best', seed: '{{input}}' });
  expect(refused.status).toBe(400);
  const paths = refused.body.error.details.errors.map(({ path }: { path: string }) => path).toSorted();
  expect(paths).toEqual(['steps.0.payload.aspectRatio', 'steps.0.payload.quality']);
  expect((await saved({})).status).toBe(400);
  expect((await saved({ prompt: '{{input}}', model: '{{input}}' })).status).toBe(201);
});

test('the key that saves such a step needs the scope studio', async () => {
  const { key } = await createKey(product.database, {
    organizationId,
    environment: 'test',
    scopes: ['workflows:read', 'workflows:write'],
  });
  const { status, body } = await apiClient(product.process.api, key).post(
    '/v1/workflows',
    { name: 'x', steps: [{ id: 'each', type: 'map', items: 'input', steps: [image({ prompt: 'A boat' })] }] },
    inA,
  );
  expect([status, body.error.details]).toEqual([403, { required: 'studio' }]);
});

test('cancelling the run cancels its video, and returns the credits', async () => {
  const before = await creditsOf(api);
  const runId = await start([{ id: 'film', type: 'video', payload: { prompt: 'Waves sandbox:slow=600' } }]);
  await until('the video is being made', async () => (await creditsOf(api)).reserved - before.reserved === 25);
  await api.post(`/v1/runs/${runId}/cancel`, {}, inA);
  await until('the credits are back', async () => (await creditsOf(api)).reserved === before.reserved);
  expect((await creditsOf(api)).balance).toBe(before.balance);
});
