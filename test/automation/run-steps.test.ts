import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { makeFlow } from './make-flow.ts';
import { endOf, inB } from './make-workflow.ts';

let product: StartedProduct;
let api: ApiClient;
let runId: string;
const inA = { 'x-api-variant': 'A' };
beforeAll(async () => {
  product = await sharedProduct();
  api = apiClient(product.process.api, (await product.createTenant({ plan: 'enterprise' })).testKey);
  const steps = [
    { id: 'compute', type: 'transform', expression: 'index < 250 ? index : 1 / 0' },
    { id: 'then', type: 'transform', expression: 'steps.compute.output' },
  ];
  const workflowId = await makeFlow(product, api, [
    { id: 'each', type: 'map', items: 'input', mode: 'settled', steps },
    { id: 'fails', type: 'fail', message: 'On purpose.' },
    { id: 'never', type: 'transform', expression: '1' },
  ]);
  const execution = { input: Array(260).fill(0), async: true };
  ({ runId } = (await api.post(`/api/v1/workflows/${workflowId}/execute`, execution, inA)).body.data);
  await endOf(api, runId);
});
afterAll(() => product.close());

const list = async (query: string, headers: Record<string, string> = inA) =>
  (await api.get(`/api/v1/runs/${runId}/steps?${query}`, headers)).body;

test('pages all steps of a run in the order of their start, then those that it never reached', async () => {
  const places: string[] = [];
  for (let offset = 0; ; offset += 100) {
    const { steps, pagination } = (await list(`limit=100&offset=${offset}`)).data;
    // A map, 260 items of which 250 have two steps, a step that fails and one that was not reached.
    expect(pagination).toMatchObject({ total: 1 + 250 * 2 + 10 + 1 + 1, limit: 100, offset });
    for (const { stepId, path } of steps) places.push((path ?? [stepId]).join('.'));
    if (steps.length < 100) break;
  }
  expect(new Set(places).size).toBe(513);
  expect(places).toHaveLength(513);
  expect(places[0]).toBe('each');
  expect(places.slice(-2)).toEqual(['fails', 'never']);
  expect(places.indexOf('each.7.compute')).toBeLessThan(places.indexOf('each.7.then'));
  expect((await list('limit=100&offset=9000')).data).toMatchObject({ steps: [], pagination: { total: 513 } });
});

test('selects by path and by status, in both dialects', async () => {
  const item = (await list('path=each.3')).data;
  expect(item.pagination.total).toBe(2);
  expect(item.steps[0]).toMatchObject({
    stepId: 'compute',
    path: ['each', 3, 'compute'],
    output: 3,
    status: 'completed',
  });
  expect((await list('path=each.3.then')).data.steps).toMatchObject([{ path: ['each', 3, 'then'] }]);
  expect((await list('path=each')).data.pagination.total).toBe(511);
  expect((await list('path=eac')).data.pagination.total).toBe(0);
  const failed = (await list('status=failed,skipped&limit=20', inB)).data;
  expect(failed).toMatchObject({ total: 12, limit: 20, offset: 0 });
  expect(failed.stepResults.map(({ stepId }: { stepId: string }) => stepId)).toEqual([
    ...Array(10).fill('compute'),
    'fails',
    'never',
  ]);
  expect(failed.stepResults[0]).toMatchObject({ path: ['each', 250, 'compute'], error: { code: 'expression_error' } });
  expect(failed.stepResults.at(-1)).toMatchObject({ stepId: 'never', status: 'skipped', attempts: 0 });
  expect((await list('status=done')).error.code).toBe('validation_error');
  expect((await api.get(`/api/v1/runs/${'0'.repeat(8)}-0000-7000-8000-000000000000/steps`)).status).toBe(404);
});
