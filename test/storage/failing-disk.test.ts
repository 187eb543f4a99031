import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { runIds } from '../../src/automation/core/ids.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { creditsOf } from '../studio/files.ts';
import { until } from '../until.ts';

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

/** Less than the 7.5 s for which the answer of a model is kept for a disk that does not work. */
const keptForMs = 7_000;

const large = { input: 'x'.repeat(300_000) };
const transform = { id: 'large', type: 'transform', expression: '[input]' };
const slow = { id: 'large', type: 'prompt', prompt: 'sandbox:slow=0.1 {{input}}' };
async function execute(step: object): Promise<string> {
  const { id } = await makeWorkflow(api, { steps: [step] });
  return (await api.post(`/v1/workflows/${id}/execute`, { ...large, async: true })).body.data.runId;
}
const detail = async (runId: string) => (await api.get(`/v1/runs/${runId}`, { 'x-api-variant': 'B' })).body.data;
async function ended(runId: string) {
  await until('the run ends', async () => ['completed', 'failed'].includes((await detail(runId)).status));
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
  // A busy machine may take longer than the answer of a model is kept: then it is done once more.
  await until('the disk works in time', async () => {
    await change('is full');
    await change('is broken');
    const generated = api.post('/api/studio/generate', { prompt: 'A lighthouse' });
    const first = await execute(transform);
    const begun = performance.now();
    const runs = [first, await execute(slow)];
    const failures = () => child.log.filter(({ msg }) => msg === 'the file storage failed').length;
    const seen = failures();
    await until('all of them met it', async () => failures() > seen + 2);
    await change('works');
    const isInTime = performance.now() - begun < keptForMs;
    const { status } = await generated;
    const ends: string[] = [];
    for (const runId of runs) ends.push((await ended(runId)).status);
    const uuids = new Set<unknown>(runs.map((runId) => runIds.parse(runId)));
    const called = child.log.filter(({ msg, runId }) => msg === 'model called' && uuids.has(runId));
    const isKept = status === 200 && ends.every((end) => end === 'completed') && called.length === 1;
    if (isInTime) expect([status, ends, called.length]).toEqual([200, ['completed', 'completed'], 1]);
    return isKept;
  });
});
