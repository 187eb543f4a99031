import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import type { ApiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import type { CollectedSpan, FakeCollector } from '../fakes/otlp-collector.ts';
import { until } from '../until.ts';

export const execute = 'POST /api/v1/workflows/{id}/execute';
/** The spans of a run that its processes report last. */
export const ofRun = [execute, 'StartWorkflow:executeRun', 'RunWorkflow:executeRun'];

/** The trace that an operation left, once these spans of it have arrived: each process sends its own, in batches. */
export async function traceOf(
  collector: FakeCollector,
  correlationId: string,
  names = ofRun,
): Promise<CollectedSpan[]> {
  return until(`${names} of ${correlationId} arrive`, async () => {
    const root = collector.spans.find(({ attributes }) => attributes['atelier.correlation_id'] === correlationId);
    const trace = collector.spans.filter(({ traceId }) => traceId === root?.traceId);
    return names.every((wanted) => trace.some(({ name }) => name === wanted)) && trace;
  });
}

/** The only span of this name. */
export const one = (trace: CollectedSpan[], name: string): CollectedSpan => {
  const found = trace.filter((span) => span.name === name);
  expect(found.map((span) => span.name)).toEqual([name]);
  return found[0]!;
};

/** Makes a workflow and runs it. */
export async function run(api: ApiClient, fields: object | string, headers: Record<string, string> = {}) {
  const correlationId = randomUUID();
  const { id } = await makeWorkflow(api, fields);
  const answer = await api.post(
    `/api/v1/workflows/${id}/execute`,
    { input: 'Do it.' },
    { 'x-correlation-id': correlationId, ...headers },
  );
  return { id, correlationId, answer };
}
