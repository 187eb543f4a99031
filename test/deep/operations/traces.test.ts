import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runIds } from '../../../src/automation/core/ids.ts';
import { runWorkflowId } from '../../../src/temporal/contracts/automation.ts';
import { organizationIds } from '../../../src/tenancy/core/ids.ts';
import { type ApiClient, apiClient } from '../../api-client.ts';
import { makeWorkflow } from '../../automation/make-workflow.ts';
import { startFakeAnthropic } from '../../fakes/anthropic.ts';
import { type CollectedSpan, type FakeCollector, startFakeCollector } from '../../fakes/otlp-collector.ts';
import type { FakeProvider } from '../../fakes/wire-server.ts';
import { execute, one, run, traceOf } from '../../operations/traces.ts';
import { openProduct, type Product, type Tenant } from '../../product.ts';
import type { ProductProcess } from '../../product-process.ts';
import { until } from '../../until.ts';

const model = 'claude-haiku-5-5';

let collector: FakeCollector;
let provider: FakeProvider;
let product: Product;
let tenant: Tenant;
let front: ProductProcess;
let worker: ProductProcess;
let live: ApiClient;
let sandbox: ApiClient;
beforeAll(async () => {
  [collector, provider] = await Promise.all([startFakeCollector(), startFakeAnthropic()]);
  product = await openProduct({
    env: {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-collector-key=collector%20key%2Csecret',
      OTEL_SERVICE_NAME: 'atelier-tested',
      ANTHROPIC_API_KEY: provider.apiKey,
      ANTHROPIC_BASE_URL: provider.baseUrl,
    },
  });
  tenant = await product.createTenant({ plan: 'enterprise' });
  // Two processes, so that a trace has to travel.
  [worker, front] = await Promise.all([product.start(['runs']), product.start(['api'])]);
  live = apiClient(front.api, tenant.liveKey);
  sandbox = apiClient(front.api, tenant.testKey);
});
afterAll(async () => {
  await product.close();
  await Promise.all([collector.close(), provider.close()]);
});

const uuidOf = (runId: string) => runIds.parse(runId)!;

const callOfClaude = { aiProvider: 'ANTHROPIC', aiModel: model, steps: [{ id: 'say', type: 'prompt' }] };

describe('a run that is waited for', () => {
  test('is one trace, from the request to the call of the model, over two processes', async () => {
    provider.next({ say: { text: 'Done.', inputTokens: 12, outputTokens: 3 } });
    const { id, correlationId, answer } = await run(live, callOfClaude);
    expect(answer.status).toBe(200);
    const trace = await traceOf(collector, correlationId);
    const [request, start, workflow, activity, call] = [
      one(trace, execute),
      one(trace, 'StartWorkflow:executeRun'),
      one(trace, 'RunWorkflow:executeRun'),
      one(trace, 'RunActivity:callStep'),
      one(trace, 'chat'),
    ];
    expect(request.parentSpanId).toBe('');
    expect(start.parentSpanId).toBe(request.spanId);
    expect(workflow.parentSpanId).toBe(start.spanId);
    expect(activity.parentSpanId).toBe(workflow.spanId);
    expect(call.parentSpanId).toBe(activity.spanId);
    const kinds = [request, start, workflow, activity, call].map(({ kind }) => kind);
    expect(kinds).toEqual(['server', 'producer', 'consumer', 'internal', 'client']);

    expect(request.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/api/v1/workflows/{id}/execute',
      'http.response.status_code': 200,
      'atelier.request_id': answer.headers.get('x-request-id'),
      'atelier.correlation_id': correlationId,
      'atelier.organization_id': organizationIds.parse(tenant.organizationId),
      'atelier.environment': 'live',
    });
    const { runs } = (await live.get(`/api/v1/workflows/${id}/runs`)).body.data;
    expect(workflow.attributes).toMatchObject({
      temporalWorkflowId: runWorkflowId(uuidOf(runs[0].id)),
      'atelier.correlation_id': correlationId,
    });
    expect(call.attributes).toEqual({
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': 'anthropic',
      'gen_ai.request.model': model,
      'gen_ai.response.model': model,
      'gen_ai.usage.input_tokens': 12,
      'gen_ai.usage.output_tokens': 3,
      'atelier.attempt': 1,
    });
    const begin = (span: CollectedSpan) => trace.find(({ spanId }) => spanId === span.parentSpanId)!.startedAt;
    for (const span of [start, activity, call]) expect(span.startedAt).toBeGreaterThanOrEqual(begin(span) - 5);
    expect(workflow.endedAt).toBeGreaterThanOrEqual(call.endedAt - 5);
    expect(trace.some(({ failed }) => failed)).toBe(false);
  });

  test('shows which statements were asked, by name, below what asked them', async () => {
    const { correlationId } = await run(live, callOfClaude);
    const trace = await traceOf(collector, correlationId);
    expect(one(trace, 'run.insert').parentSpanId).toBe(one(trace, execute).spanId);
    expect(one(trace, 'run.record_steps').parentSpanId).toBe(one(trace, 'RunActivity:callStep').spanId);
    expect(one(trace, 'run.insert').attributes).toEqual({
      'db.system.name': 'postgresql',
      'db.query.summary': 'run.insert',
    });
  });

  test('is reported by the process that did the work, under the name of the service', async () => {
    const { correlationId } = await run(live, callOfClaude);
    const trace = await traceOf(collector, correlationId);
    expect(trace.every(({ resource }) => resource['service.name'] === 'atelier-tested')).toBe(true);
    expect(one(trace, execute).resource['atelier.process']).toBe('api');
    expect(one(trace, 'chat').resource['atelier.process']).toBe('runs+housekeeping');
  });

  test('has steps inside the worker in its trace too', async () => {
    const { correlationId } = await run(sandbox, '{{input}}');
    const trace = await traceOf(collector, correlationId);
    const step = one(trace, 'RunActivity:walkSteps');
    expect(step.parentSpanId).toBe(one(trace, 'RunWorkflow:executeRun').spanId);
    expect(one(trace, 'chat').parentSpanId).toBe(step.spanId);
  });

  test('says which attempts failed and in what way', async () => {
    const { correlationId } = await run(sandbox, 'sandbox:overloaded');
    const trace = await traceOf(collector, correlationId);
    const calls = trace.filter(({ name }) => name === 'chat').sort((a, b) => a.startedAt - b.startedAt);
    expect(calls.map(({ failed, attributes }) => [failed, attributes['error.type']])).toEqual([
      [true, 'overloaded'],
      [true, 'overloaded'],
      [false, undefined],
    ]);
    expect(one(trace, 'RunWorkflow:executeRun').failed).toBe(false);
  });

  test('that fails is a trace of failures, down to the class', async () => {
    provider.next({ fail: { status: 401, body: { type: 'error', error: { type: 'authentication_error' } } } });
    const { correlationId, answer } = await run(live, callOfClaude);
    expect(answer.status).toBe(500);
    const trace = await traceOf(collector, correlationId);
    const failures = trace
      .filter(({ failed }) => failed)
      .map(({ name, attributes }) => [name, attributes['error.type']]);
    expect(Object.fromEntries(failures)).toEqual({
      [execute]: '500',
      'RunWorkflow:executeRun': 'RunFailed',
      chat: 'auth',
    });
  });
});

test('a run without a waiting caller continues in the trace of its request', async () => {
  const correlationId = randomUUID();
  const { id } = await makeWorkflow(sandbox, 'sandbox:slow=0.3');
  const body = { inputs: {}, async: true };
  await sandbox.post(`/api/v1/workflows/${id}/execute`, body, { 'x-correlation-id': correlationId });
  const trace = await traceOf(collector, correlationId);
  const start = one(trace, 'StartWorkflow:executeRun');
  expect(start.parentSpanId).toBe(one(trace, execute).spanId);
  expect(one(trace, 'RunWorkflow:executeRun').parentSpanId).toBe(start.spanId);
});

describe("a caller's traceparent", () => {
  const ids = () => ({ traceId: randomBytes(16).toString('hex'), spanId: randomBytes(8).toString('hex') });

  test('is gone on with', async () => {
    const { traceId, spanId } = ids();
    const { correlationId } = await run(sandbox, '{{input}}', { traceparent: `00-${traceId}-${spanId}-01` });
    const trace = await traceOf(collector, correlationId);
    expect(one(trace, execute)).toMatchObject({ traceId, parentSpanId: spanId });
    expect(one(trace, 'chat').traceId).toBe(traceId);
  });

  test.each(['', 'nonsense', '00-0-0-01', `00-${'0'.repeat(32)}-${'1'.repeat(16)}-01`])(
    'that is none, %j, begins a trace like no traceparent',
    async (traceparent) => {
      const { correlationId, answer } = await run(sandbox, '{{input}}', { traceparent });
      expect(answer.status).toBe(200);
      const trace = await traceOf(collector, correlationId);
      expect(one(trace, execute).parentSpanId).toBe('');
    },
  );

  test('that keeps no trace is obeyed all the way', async () => {
    const { traceId, spanId } = ids();
    const { answer } = await run(sandbox, '{{input}}', { traceparent: `00-${traceId}-${spanId}-00` });
    expect(answer.status).toBe(200);
    // What came after it has arrived, and from both processes.
    const { correlationId } = await run(sandbox, '{{input}}');
    await traceOf(collector, correlationId);
    expect(collector.spans.filter((span) => span.traceId === traceId)).toEqual([]);
  });
});

test('requests without a route are spans without one, and probes are none', async () => {
  const correlationId = randomUUID();
  await sandbox.get('/api/health');
  await sandbox.get('/nowhere/canary-path', { 'x-correlation-id': correlationId });
  const [span] = await traceOf(collector, correlationId, ['GET']);
  expect(span).toMatchObject({ attributes: { 'http.response.status_code': 404 }, failed: false });
  expect(span!.attributes).not.toHaveProperty('http.route');
  expect(collector.spans.some(({ name }) => name.includes('health'))).toBe(false);
});

test('lines of log say which trace they belong to', async () => {
  const { correlationId } = await run(live, callOfClaude);
  const trace = await traceOf(collector, correlationId);
  const lineOf = (process: ProductProcess, msg: string) =>
    until(`${msg} is logged`, async () =>
      process.log.find((line) => line.msg === msg && line.correlationId === correlationId),
    );
  const { traceId, spanId } = one(trace, execute);
  expect(await lineOf(front, 'request')).toMatchObject({ traceId, spanId });
  const activity = one(trace, 'RunActivity:callStep');
  expect(await lineOf(worker, 'model called')).toMatchObject({ traceId, spanId: activity.spanId });
});

test('nothing that is secret or anybody’s reaches the collector', async () => {
  const prompt = 'canary-prompt-of-a-customer';
  const system = 'canary-system';
  const step = { id: 'say', type: 'prompt', prompt, system };
  provider.next({ say: { text: 'canary-answer' } });
  await run(live, { ...callOfClaude, name: 'canary-name', description: 'canary-description', steps: [step] });
  provider.next({
    fail: { status: 400, body: { type: 'error', error: { type: 'invalid_request_error', message: `No: ${prompt}` } } },
  });
  await run(live, { ...callOfClaude, steps: [step] });
  const { id } = await makeWorkflow(sandbox);
  await sandbox.post(`/api/v1/workflows/${id}/execute`, { input: 'canary-input', variables: { a: 'canary-variable' } });
  await sandbox.get(`/api/v1/workflows?api_key=${tenant.testKey}&q=canary-query`, { cookie: 'canary=cookie' });
  await sandbox.get(`/canary/${tenant.testKey}`, { tracestate: 'canary=state', baggage: 'canary=baggage' });
  await sandbox.get('/api/v1/workflows', { 'x-correlation-id': tenant.liveKey });
  const { correlationId } = await run(live, { ...callOfClaude, aiModel: `sk-${'1'.repeat(20)}` });
  const trace = await traceOf(collector, correlationId);
  expect(one(trace, 'chat').attributes['gen_ai.request.model']).toBe('[redacted]');

  const bytes = Buffer.concat(collector.received);
  expect(bytes.includes('x-collector-key collector key,secret')).toBe(true);
  for (const secret of [tenant.testKey, tenant.liveKey, provider.apiKey, prompt, system, 'Do it.', 'canary', 'sk-1'])
    expect([secret, bytes.includes(secret)]).toEqual([secret, false]);
});
