import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { updateOrganization } from '../../src/tenancy/organizations.ts';
import type { ApiClient } from '../api-client.ts';
import { sharedProduct } from '../product.ts';
import { endOf, inB, makeWorkflow } from './make-workflow.ts';

// A process remembers the workflows that it has started. Every change counts for the next start all the same.

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
afterAll(() => product.close());

const inA = { 'x-api-variant': 'A' };
const start = (id: string, body: object = {}) =>
  api.post(`/api/v1/workflows/${id}/execute`, { async: true, ...body }, inA);
const change = (id: string, body: object) => api.request('PATCH', `/api/v1/workflows/${id}`, body, inA);

/** A workflow that has been started twice. */
async function startedWorkflow(fields: object | string = '{{input}}') {
  const { id } = await makeWorkflow(api, fields);
  for (let times = 0; times < 2; times++) expect((await start(id)).status).toBe(200);
  return id;
}

test('new steps are those of the next run', async () => {
  const id = await startedWorkflow('first');
  for (const prompt of ['second', 'third']) {
    expect((await change(id, { steps: [{ id: 'say', type: 'prompt', prompt }] })).status).toBe(200);
    const { body } = await start(id);
    expect((await endOf(api, body.data.runId)).stepResults[0].output).toContain(prompt);
  }
});

test('new inputs are checked, and old ones no longer', async () => {
  const id = await startedWorkflow({ steps: [{ id: 'say', type: 'prompt', prompt: '{{who}}' }] });
  const inputs = [{ name: 'who', type: 'string', required: true }];
  expect((await change(id, { inputs })).status).toBe(200);
  expect((await start(id)).status).toBe(400);
  expect((await start(id, { inputs: { who: 'Ada' } })).status).toBe(200);
  expect((await change(id, { inputs: [] })).status).toBe(200);
  expect((await start(id)).status).toBe(200);
});

test('a paused workflow keeps its runs waiting', async () => {
  const id = await startedWorkflow();
  expect((await api.post(`/api/v1/workflows/${id}/pause`)).status).toBe(200);
  const { body } = await start(id);
  const detail = async () => (await api.get(`/api/v1/runs/${body.data.runId}`, inB)).body.data;
  expect(await detail()).toMatchObject({ status: 'queued', queuedFor: 'paused' });
  expect((await api.post(`/api/v1/workflows/${id}/resume`)).status).toBe(200);
  expect((await endOf(api, body.data.runId)).status).toBe('completed');
});

test('a workflow that was archived or deleted is not started', async () => {
  const id = await startedWorkflow();
  expect((await change(id, { status: 'archived' })).status).toBe(200);
  expect((await start(id)).body.error.code).toBe('workflow_inactive');
  expect((await change(id, { status: 'active' })).status).toBe(200);
  expect((await start(id)).status).toBe(200);
  expect((await api.request('DELETE', `/api/v1/workflows/${id}`)).status).toBeLessThan(300);
  expect((await start(id)).body.error.code).toBe('workflow_not_found');
});

test('another organization and the other environment do not find it', async () => {
  const id = await startedWorkflow();
  const stranger = await product.createTenant();
  for (const key of [stranger.testKey, product.tenant.liveKey]) {
    const answer = await api.post(`/api/v1/workflows/${id}/execute`, {}, { ...inA, authorization: `Bearer ${key}` });
    expect([answer.status, answer.body.error.code]).toEqual([404, 'workflow_not_found']);
  }
});

test('a plan that changed counts for the next run', async () => {
  const id = await startedWorkflow();
  const { organizationId } = product.tenant;
  await updateOrganization(product.database, organizationId, { plan: 'team' });
  expect((await start(id)).status).toBe(200);
  await updateOrganization(product.database, organizationId, { plan: 'enterprise' });
  expect((await start(id)).status).toBe(200);
});
