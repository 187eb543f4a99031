import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { apiClient } from '../../api-client.ts';
import { readSources } from '../../architecture/source-graph.ts';
import { makeWorkflow } from '../../automation/make-workflow.ts';
import { type FakeCollector, startFakeCollector } from '../../fakes/otlp-collector.ts';
import { ofRun, one, run, traceOf } from '../../operations/traces.ts';
import { openProduct, type Product, type Tenant } from '../../product.ts';
import { until } from '../../until.ts';

let collector: FakeCollector;
let product: Product;
let tenant: Tenant;
beforeAll(async () => {
  collector = await startFakeCollector();
  product = await openProduct();
  tenant = await product.createTenant({ plan: 'enterprise' });
});
afterAll(async () => {
  await product.close();
  await collector.close();
});

describe('a collector that', () => {
  const withCollector = async (endpoint: string) => {
    const process = await product.start(['api', 'runs'], { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
    return { process, api: apiClient(process.api, tenant.testKey) };
  };

  test('is not there changes nothing', async () => {
    const { process, api } = await withCollector('http://127.0.0.1:9');
    expect((await run(api, '{{input}}')).answer).toMatchObject({
      status: 200,
      body: { data: { status: 'COMPLETED' } },
    });
    await until('it is said once', async () => process.log.find(({ msg }) => msg === 'traces are lost'));
    expect((await run(api, 'sandbox:fail')).answer.status).toBe(500);
    expect(await process.stop()).toBe(0);
  });

  test('never answers delays nothing, not even the end of the process', async () => {
    const hanging = await startFakeCollector({ hangs: true });
    const { process, api } = await withCollector(hanging.endpoint);
    await run(api, '{{input}}');
    await until('an export hangs', async () => hanging.hanging() > 0);
    expect((await run(api, '{{input}}')).answer.status).toBe(200);
    expect(await process.stop()).toBe(0);
    await hanging.close();
  });
});

describe('without OTEL_EXPORTER_OTLP_ENDPOINT', () => {
  test('nothing is reported, and a workflow that another client traces runs as usual', async () => {
    const [plain, traced] = await Promise.all([
      product.start(['runs']),
      product.start(['api'], { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint }),
    ]);
    const { correlationId, answer } = await run(apiClient(traced.api, tenant.testKey), '{{input}}');
    expect(answer.status).toBe(200);
    const trace = await traceOf(collector, correlationId, ofRun.slice(0, 2));
    expect(trace.some(({ resource }) => resource['atelier.process'] === 'runs+housekeeping')).toBe(false);
    expect(await plain.stop()).toBe(0);
    expect(plain.log.some((line) => 'traceId' in line)).toBe(false);
    // Sweeps have nothing to do with it, and fail where a busy machine answers them too late.
    expect(plain.log.filter(({ level, sweep, temporal }) => Number(level) >= 40 && !sweep && !temporal)).toEqual([]);
    await traced.stop();
  });

  test('nothing of OpenTelemetry is loaded: one file imports it, and is itself imported on demand', () => {
    const files = readSources().filter(({ isTest }) => !isTest);
    const importers = files.filter(({ imports }) => imports.some(({ target }) => target.startsWith('@opentelemetry/')));
    expect(importers.map(({ path }) => path)).toEqual(['src/platform/observability/opentelemetry.ts']);
    expect(files.filter(({ text }) => /from '[^']*opentelemetry\.ts'/.test(text))).toEqual([]);
  });
});

test('a run whose process died is started in a trace of its own, with the same correlation id', async () => {
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint };
  const [dying] = await Promise.all([
    product.start(['api'], { ...traced, FAIL_POINT: 'run.committed' }),
    product.start(['runs'], traced),
  ]);
  const correlationId = randomUUID();
  const lost = apiClient(dying.api, tenant.testKey);
  const { id } = await makeWorkflow(lost);
  await expect(
    lost.post(`/api/v1/workflows/${id}/execute`, { input: 'x' }, { 'x-correlation-id': correlationId }),
  ).rejects.toThrow();
  const trace = await traceOf(collector, correlationId, ofRun.slice(1));
  const start = one(trace, 'StartWorkflow:executeRun');
  expect(start).toMatchObject({ parentSpanId: '', attributes: { 'atelier.correlation_id': correlationId } });
  expect(one(trace, 'RunWorkflow:executeRun').parentSpanId).toBe(start.spanId);
});
