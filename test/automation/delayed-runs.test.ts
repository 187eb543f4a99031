import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { clock } from '../../src/platform/clock.ts';
import { advance } from '../clock.ts';
import { type StartedProduct, startProduct } from '../product.ts';
import { endOf, inB, makeWorkflow } from './make-workflow.ts';

let product: StartedProduct;
beforeAll(async () => {
  product = await startProduct();
});
afterAll(() => product.close());

const hourMs = 3_600_000;

const start = (id: string, body: object) =>
  product.api.post(`/api/v1/workflows/${id}/execute`, body, { 'x-api-variant': 'A' });
const detail = async (runId: string) => (await product.api.get(`/api/v1/runs/${runId}`, inB)).body.data;

test('a delayed run waits for its delay, and shows when it begins', async () => {
  const { id } = await makeWorkflow(product.api);
  const sentAt = clock.now();
  const { status, body } = await start(id, { delay: 'PT1H', tags: ['a'] });
  expect([status, body.data.status]).toEqual([202, 'PENDING']);
  const waiting = await detail(body.data.runId);
  expect(waiting).toMatchObject({ status: 'queued', queuedFor: 'delay', tags: ['a'], triggeredBy: { type: 'api' } });
  expect(Date.parse(waiting.scheduledFor) - sentAt).toBeGreaterThanOrEqual(hourMs - 100);
  await advance(product, hourMs);
  const ended = await endOf(product.api, body.data.runId);
  expect(ended).toMatchObject({ status: 'completed' });
  expect(ended).not.toHaveProperty('queuedFor');
  expect(Date.parse(ended.startedAt)).toBeGreaterThanOrEqual(Date.parse(waiting.scheduledFor));
});

test('a delayed run is cancelled like any other, and never begins', async () => {
  const { id } = await makeWorkflow(product.api);
  const { runId } = (await start(id, { delay: 'PT1H' })).body.data;
  await product.api.post(`/api/v1/runs/${runId}/cancel`);
  const later = (await start(id, { delay: 'PT1H' })).body.data;
  await advance(product, hourMs);
  await endOf(product.api, later.runId);
  expect((await detail(runId)).status).toBe('cancelled');
});
