import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { creditsOf } from '../studio/files.ts';
import { until } from '../until.ts';

// Far more than it takes alone: others may use the machine too.
jest.setTimeout(120_000);

let product: Product;
let child: ProductProcess;
let api: ApiClient;
beforeAll(async () => {
  product = await openProduct({ env: secrets });
  const entryPoint = fileURLToPath(new URL('./failing-disk.ts', import.meta.url));
  child = await product.start(['api', 'runs', 'generation'], {}, entryPoint);
  api = apiClient(child.api, (await product.createTenant({ plan: 'pro' })).testKey);
});
afterAll(() => product.close());

/** To the next state. */
async function change(to: string): Promise<void> {
  const before = child.log.length;
  process.kill(child.pid, 'SIGUSR2');
  await until(`the disk ${to}`, async () => child.log.slice(before).some(({ msg }) => msg === `the disk ${to}`));
}

const large = { input: 'x'.repeat(300_000) };
const transform = { id: 'large', type: 'transform', expression: '[input]' };
const slow = { id: 'large', type: 'prompt', prompt: 'sandbox:slow=0.1 {{input}}' };
async function execute(step: object): Promise<string> {
  const { id } = await makeWorkflow(api, { steps: [step] });
  return (await api.post(`/v1/workflows/${id}/execute`, { ...large, async: true })).body.data.runId;
}
const detail = async (runId: string) => (await api.get(`/v1/runs/${runId}`, { 'x-api-variant': 'B' })).body.data;
async function ended(runId: string) {
  await until('the run ends', async () => ['completed', 'failed'].includes((await detail(runId)).status), 60_000);
  return detail(runId);
}

test('a full disk fails what needs it, says so, costs nothing, and nothing else', async () => {
  const before = await creditsOf(api);
  await change('is full');
  const failure = { code: 'service_unavailable', message: 'The file storage failed. The file storage is full.' };
  const failed: string[] = [];
  for (const step of [transform, slow]) {
    const runId = await execute(step);
    expect(await ended(runId)).toMatchObject({ status: 'failed', error: { ...failure, stepId: 'large' } });
    failed.push(runId);
  }
  const { id } = await makeWorkflow(api, 'A small output: {{input}}');
  expect((await api.post(`/v1/workflows/${id}/execute`, { input: 'x' })).status).toBe(200);

  const { status, body, headers } = await api.post('/api/studio/generate', { prompt: 'A lighthouse' });
  expect([status, body.error.code, body.error.details.reason]).toEqual([
    503,
    'service_unavailable',
    'service_unavailable',
  ]);
  expect(headers.get('retry-after')).toBe('5');
  const spoken = await api.post('/api/voice/tts', { text: 'Hello', voice: 'nova' });
  const sentence = 'The file storage is not available. Nothing was charged.';
  expect([spoken.status, spoken.body]).toEqual([503, { success: false, error: sentence }]);
  expect(spoken.headers.get('retry-after')).toBe('5');
  const failing = await makeWorkflow(api, { steps: [transform] });
  const waited = await api.post(`/v1/workflows/${failing.id}/execute`, { ...large, async: false });
  expect([waited.status, waited.body.error.code]).toEqual([503, 'service_unavailable']);
  const generation = (await api.get(`/api/studio/generations/${body.error.details.generationId}`)).body.data;
  expect(generation).toMatchObject({ status: 'failed', error: { message: 'The file storage is full.' } });
  expect(await creditsOf(api)).toEqual(before);
  const { rows } = await product.database.pool.query(
    'select count(*)::int as kept from file where recorded_at is not null',
  );
  expect(rows).toEqual([{ kept: 0 }]);

  await change('is broken');
  await change('works');
  for (const runId of failed) {
    const retried = (await api.post(`/v1/runs/${runId}/retry`)).body.data.runId;
    expect(await ended(retried)).toMatchObject({ status: 'completed' });
  }
  expect((await api.post('/api/studio/generate', { prompt: 'A lighthouse' })).status).toBe(200);
});

test('a disk that does not work is waited for, and no text model is asked twice', async () => {
  await change('is full');
  await change('is broken');
  const generated = api.post('/api/studio/generate', { prompt: 'A lighthouse' });
  const runs = [await execute(transform), await execute(slow)];
  const failures = () => child.log.filter(({ msg }) => msg === 'the file storage failed').length;
  const seen = failures();
  await until('all of them met it', async () => failures() > seen + 2);
  await change('works');
  expect((await generated).status).toBe(200);
  for (const runId of runs) expect(await ended(runId)).toMatchObject({ status: 'completed' });
  const uuids = new Set<unknown>(runs.map((runId) => runIds.parse(runId)));
  const called = child.log.filter(({ msg, runId }) => msg === 'model called' && uuids.has(runId));
  expect(called).toHaveLength(1);
});
