import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { ApiClient } from '../api-client.ts';
import { followEvents } from '../event-stream.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { endOf, inB, makeWorkflow } from './make-workflow.ts';

const maxBytes = 2 * 1024 * 1024;
const count = 17;

let product: StartedProduct;
let api: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
});
afterAll(() => product.close());

const bytesOf = (value: unknown) => Buffer.byteLength(JSON.stringify(value));
const isReference = (value: unknown): value is { $ref: string; bytes: number } =>
  typeof value === 'object' && value !== null && '$ref' in value;
const sizeOf = (value: unknown) => (isReference(value) ? value.bytes : bytesOf(value));

/** Each step returns more than the one before it, together twice what an answer may have. */
const growing = Array.from({ length: count }, (_, index) => ({
  id: `s${index}`,
  type: 'transform',
  expression: `input.substring(0, ${14_500 * (index + 1)})`,
}));

/** Some values are shown, and none of them is larger than one that is not. */
function expectLargestReplaced(values: unknown[]): void {
  const [replaced, shown] = [values.filter(isReference), values.filter((value) => !isReference(value))];
  expect(replaced.length).toBeGreaterThan(0);
  expect(shown.length).toBeGreaterThan(0);
  expect(Math.max(...shown.map(sizeOf))).toBeLessThanOrEqual(Math.min(...replaced.map(sizeOf)));
}

test('a run with many outputs is shown in at most 2 MiB, without the largest ones', async () => {
  const steps = [...growing, { id: 'fails', type: 'transform', expression: 'input.substring(0, 300000)' }];
  const { id } = await makeWorkflow(api, { steps });
  const input = 'x'.repeat(250_000);
  const started = await api.post(`/api/v1/workflows/${id}/execute`, { input, async: true }, inB);
  const { runId } = started.body.data;
  expect((await endOf(api, runId)).status).toBe('failed');

  for (const headers of [{ 'x-api-variant': 'A' }, inB]) {
    const { body } = await api.get(`/api/v1/runs/${runId}`, headers);
    expect(bytesOf(body)).toBeLessThanOrEqual(maxBytes);
    // Not much less than it may have.
    expect(bytesOf(body)).toBeGreaterThan(maxBytes / 2);
    const shown: { stepId: string; output: unknown }[] = body.data.steps ?? body.data.stepResults;
    expect(shown.map(({ stepId }) => stepId)).toEqual(steps.map(({ id: stepId }) => stepId));
    expectLargestReplaced(shown.slice(0, count).map((step) => step.output));
    const largest = shown[count - 1]!.output as { $ref: string };
    expect((await api.get(largest.$ref)).body.data.output).toEqual(input.slice(0, 14_500 * count));
  }
});

test('a run that was waited for, and the end of its stream, have at most 2 MiB', async () => {
  const { id } = await makeWorkflow(api, { steps: growing });
  const executed = await api.post(`/api/v1/workflows/${id}/execute`, { input: 'x'.repeat(250_000), async: false }, inB);
  expect(executed.status).toBe(200);
  expect(bytesOf(executed.body)).toBeLessThanOrEqual(maxBytes);
  const { runId } = executed.body.data;
  const stream = await followEvents(`${product.process.api}/api/v1/runs/${runId}/events`, product.tenant.testKey);
  const names: string[] = [];
  for await (const { name, data } of stream.events) {
    names.push(name);
    expect(bytesOf(data)).toBeLessThanOrEqual(maxBytes);
  }
  expect(names.at(-1)).toBe('run.completed');
});

test('a list of runs has at most 2 MiB, without the largest inputs and outputs', async () => {
  const { id } = await makeWorkflow(api, { steps: [] });
  const runs = 100;
  for (let index = 0; index < runs; index++) {
    const text = 'y'.repeat(14_000 + index * 10);
    const run = { input: text, variables: { text }, async: true };
    expect((await api.post(`/api/v1/workflows/${id}/execute`, run, { 'x-api-variant': 'A' })).status).toBe(200);
  }
  for (const headers of [{ 'x-api-variant': 'A' }, inB]) {
    const { body } = await api.get(`/api/v1/workflows/${id}/runs?limit=100`, headers);
    expect(body.data.runs).toHaveLength(runs);
    expect(bytesOf(body)).toBeLessThanOrEqual(maxBytes);
  }
  const { body } = await api.get(`/api/v1/workflows/${id}/runs?limit=100`, { 'x-api-variant': 'A' });
  expectLargestReplaced(body.data.runs.map((run: { input: { input: unknown } }) => run.input.input));
});
