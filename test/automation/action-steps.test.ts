import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createKey } from '../../src/tenancy/keys.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { until } from '../until.ts';
import { inB, makeWorkflow } from './make-workflow.ts';

let product: StartedProduct;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
afterAll(() => product.close());

const message = { channel: 'C0123456789', text: 'The build is green.' };
const telling = (payload: object = message, more = {}) => ({
  ...{ id: 'tell', type: 'action', integration: 'slack', action: 'send_message', payload },
  ...more,
});

/** Runs the steps to their end. */
async function run(steps: object[], on = api, body: object = {}) {
  const { id } = await makeWorkflow(on, { steps });
  const { runId } = (await on.post(`/v1/workflows/${id}/execute`, { ...body, async: true }, { 'x-api-variant': 'A' }))
    .body.data;
  return until('the run ends', async () => {
    const detail = (await on.get(`/v1/runs/${runId}`, inB)).body.data;
    return detail.status !== 'queued' && detail.status !== 'running' && detail;
  });
}

describe('a step of type action', () => {
  test('fails when its integration is not connected, and asks nobody', async () => {
    const { status, error, stepResults } = await run([telling()]);
    expect([status, error.stepId, error.code, stepResults[0].attempts]).toEqual(['failed', 'tell', 'not_connected', 1]);
    expect([stepResults[0].status, stepResults[0].provider]).toEqual(['failed', undefined]);
  });

  test.each([
    ['no integration', { integration: undefined }, 'steps.0.integration'],
    ['an unknown integration', { integration: 'fax' }, 'steps.0.integration'],
    ['an unknown action', { action: 'constructor' }, 'steps.0.action'],
    ['no payload', { payload: undefined }, 'steps.0.payload'],
    ['a payload that is no object', { payload: [] }, 'steps.0.payload'],
    ['a payload without its channel', { payload: { text: 'Hello' } }, 'steps.0.payload.channel'],
    ['a payload with a wrong member', { payload: { ...message, blocks: [1] } }, 'steps.0.payload.blocks.0'],
  ])('with %s is refused when it is saved', async (_, more, path) => {
    const { status, body } = await api.post('/api/v1/workflows', { name: 'x', steps: [telling(message, more)] });
    expect([status, body.error.code, body.error.details.errors[0].path]).toEqual([400, 'validation_error', path]);
  });

  test('may have templates where values are checked, and is warned of those that mean nothing', async () => {
    const text = 'x'.repeat(1_000);
    const payload = {
      triggerId: '{{input}}',
      view: { type: '{{kind}}', title: { type: 'plain_text', text }, blocks: [] },
    };
    const opening = telling(payload, { action: 'open_modal' });
    const { status, body } = await api.post('/api/v1/workflows', { name: 'x', steps: [opening] });
    expect([status, body.error.details.errors.map(({ path }: { path: string }) => path)]).toEqual([
      400,
      ['steps.0.payload.view.title.text'],
    ]);
    const saved = await api.post(
      '/api/v1/workflows',
      { name: 'x', steps: [telling({ ...message, text: '{{steps.later.output}}' }, { temperature: 1 })] },
      inB,
    );
    expect([saved.status, saved.body.data.warnings]).toEqual([
      201,
      [
        expect.objectContaining({ path: 'steps.0.temperature', code: 'unused_field' }),
        expect.objectContaining({ path: 'steps.0.payload', code: 'unknown_step' }),
      ],
    ]);
    const { steps } = (await api.get(`/api/v1/workflows/${saved.body.data.id}`, inB)).body.data;
    expect(steps).toEqual([{ ...telling({ ...message, text: '{{steps.later.output}}' }), name: 'tell' }]);
  });

  test('is saved by keys with the scope integrations alone', async () => {
    const { organizationId } = await product.createTenant({ plan: 'pro' });
    const { key } = await createKey(product.database, {
      ...{ organizationId, environment: 'test', scopes: ['workflows:read', 'workflows:write'] },
    });
    const limited = apiClient(product.process.api, key);
    const refusal = { code: 'forbidden', details: { required: 'integrations' } };
    const made = await limited.post('/api/v1/workflows', { name: 'x', steps: [telling()] });
    expect([made.status, made.body.error]).toEqual([403, expect.objectContaining(refusal)]);
    const { id } = (await limited.post('/api/v1/workflows', { name: 'x' })).body.data;
    const changed = await limited.patch(`/api/v1/workflows/${id}`, { steps: [telling()] });
    expect([changed.status, changed.body.error]).toEqual([403, expect.objectContaining(refusal)]);
    expect((await limited.patch(`/api/v1/workflows/${id}`, { steps: [] })).status).toBe(200);
  });
});
