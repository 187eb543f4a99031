import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { videoIds } from '../../src/studio/core/ids.ts';
import { jobWorkflowId } from '../../src/temporal/contracts/jobs.ts';
import { generationContract } from '../../src/temporal/contracts/studio.ts';
import { apiClient } from '../api-client.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import { type StudioView, viewStudio } from '../temporal-studio.ts';
import { until } from '../until.ts';
import { openTemporalUi, type TemporalUi } from './temporal-ui.ts';
import { startTemporalWithUi, type TemporalWithUi } from './temporal-with-ui.ts';

// A browser takes its time on a busy machine.
jest.setTimeout(120_000);

let temporal: TemporalWithUi;
let product: Product;
let view: StudioView;
let ui: TemporalUi;
beforeAll(async () => {
  temporal = await startTemporalWithUi();
  product = await openProduct({ env: { ...secrets, TEMPORAL_ADDRESS: temporal.address } });
  [view, ui] = await Promise.all([viewStudio(temporal.address), openTemporalUi(temporal.uiUrl)]);
});
afterAll(async () => {
  await ui?.close();
  await view?.close();
  await product?.close();
  await temporal?.close();
});

test('the page of a video says what it waits for, and its button cancels it', async () => {
  const { api: url } = await product.start(['api', 'runs', 'generation']);
  const api = apiClient(url, (await product.createTenant()).testKey);
  const credits = async () => (await api.get('/api/v1/credits')).body.data;
  const before = await credits();
  const { id } = (await api.post('/api/studio/generate-video', { prompt: 'sandbox:slow=600 Waves' })).body.data;
  await until('it waits', async () => /^Waits/.test(await view.detailsOf(id)));
  const workflowId = jobWorkflowId(generationContract, videoIds.parse(id)!);
  await ui.detailsSay(workflowId, /Waits for Runway \(\d+ %\).*Cancel to give the credits/);
  await ui.cancelWorkflow();
  const read = async () => (await api.get(`/api/studio/generate-video?id=${id}`)).body.data;
  await until('it is cancelled', async () => (await read()).status === 'cancelled');
  expect(await credits()).toMatchObject({ balance: before.balance, reserved: 0 });
});
