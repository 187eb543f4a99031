import { get } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import pg from 'pg';
import { type ApiClient, apiClient } from '../../api-client.ts';
import { makeWorkflow } from '../../automation/make-workflow.ts';
import { startProduct } from '../../product.ts';
import type { ProductProcess } from '../../product-process.ts';
import { until } from '../../until.ts';

let product: Awaited<ReturnType<typeof startProduct>>;
let api: ApiClient;
beforeAll(async () => {
  product = await startProduct();
  api = product.api;
});
afterAll(() => product.close());

async function metricsOf(process: ProductProcess): Promise<string> {
  const line = await until('it serves metrics', async () => process.log.find(({ metrics }) => metrics));
  const response = await fetch(line.metrics as string);
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return response.text();
}

type Sample = { name: string; labels: Record<string, string>; value: number };

/** Reads the text format as strictly as Prometheus does. */
function parse(text: string): Sample[] {
  return text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const match = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$/.exec(line);
      if (!match) throw new Error(`No sample: ${line}`);
      const [, name, labels = '', value] = match;
      const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, label, text]) => [label!, text!]);
      return { name: name!, labels: Object.fromEntries(pairs), value: Number(value) };
    });
}

const samples = async (name: string, process = product.process) =>
  parse(await metricsOf(process)).filter((sample) => sample.name === name);

/** Samples of a gauge, once it could be read: one that the database answers too late is left out. */
const readings = (name: string, isWanted: (sample: Sample) => boolean = () => true) =>
  until(`${name} is read`, async () => {
    const found = (await samples(name)).filter(isWanted);
    return found.length > 0 && found;
  });

const requests = async (labels: Record<string, string>) =>
  (await samples('atelier_http_request_duration_seconds_count')).find((sample) =>
    Object.entries(labels).every(([name, value]) => sample.labels[name] === value),
  )?.value;

describe('metrics', () => {
  test('count requests by route and status, and know no path, id or text from outside', async () => {
    const { id } = await makeWorkflow(api);
    for (let n = 0; n < 3; n++) await api.get(`/api/v1/workflows/${id}`);
    await api.get('/api/v1/workflows/0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000');
    await api.get('/somewhere/canary');
    await api.request('PURGE', '/canary').catch(() => {});
    await apiClient(product.process.api, 'sk_test_canary').get(`/api/v1/workflows/${id}`);
    const route = '/api/v1/workflows/{id}';
    expect(await requests({ method: 'GET', route, status: '200' })).toBe(3);
    expect(await requests({ method: 'GET', route, status: '404' })).toBe(1);
    expect(await requests({ method: 'GET', route, status: '401' })).toBe(1);
    expect(await requests({ route: 'unmatched', method: 'GET', status: '404' })).toBe(1);
    const text = await metricsOf(product.process);
    expect(text).not.toContain('canary');
    expect(text).not.toContain(id);
    expect(text).not.toContain(product.tenant.organizationId.slice(4));
    const { organizationId } = product.tenant;
    expect(text).not.toContain(organizationId.replace(/^org_(.{8})(.{4})/, '$1-$2-').slice(0, 13));
  });

  test('an invented method is one like any other', async () => {
    const { hostname, port } = new URL(product.process.api);
    for (const method of ['PROPFIND', 'REPORT', 'TRACE']) {
      await new Promise<void>((resolve, reject) => {
        get({ hostname, port, path: '/x', method }, (response) => response.resume().on('end', resolve)).on(
          'error',
          reject,
        );
      });
    }
    const methods = (await samples('atelier_http_request_duration_seconds_count')).map(({ labels }) => labels.method);
    expect(methods).toContain('other');
    expect(methods).not.toContain('PROPFIND');
  });

  test('count runs that end, and show those that are open', async () => {
    const ended = async (status: string) =>
      (await samples('atelier_runs_ended_total')).find(({ labels }) => labels.status === status)?.value ?? 0;
    const before = { completed: await ended('completed'), failed: await ended('failed') };
    const good = await makeWorkflow(api);
    const empty = await makeWorkflow(api, { steps: [] });
    const bad = await makeWorkflow(api, 'sandbox:fail');
    await api.post(`/api/v1/workflows/${good.id}/execute`, { input: 'x' });
    await api.post(`/api/v1/workflows/${empty.id}/execute`, { input: 'x' });
    await api.post(`/api/v1/workflows/${bad.id}/execute`, { input: 'x' });
    // A run is counted when it is over, which its caller may be told before.
    await until('all are counted', async () => {
      const all = (await ended('completed')) + (await ended('failed'));
      return all >= before.completed + before.failed + 3;
    });
    expect(await ended('completed')).toBe(before.completed + 2);
    expect(await ended('failed')).toBe(before.failed + 1);
    const route = '/api/v1/workflows/{id}/execute';
    expect(await requests({ route, status: '500', run_failed: 'true' })).toBe(1);
    expect(await requests({ route, status: '200', run_failed: 'false' })).toBe(2);

    const slow = await makeWorkflow(api, 'sandbox:slow=600');
    const { runId } = (await api.post(`/api/v1/workflows/${slow.id}/execute`, { inputs: {}, async: true })).body.data;
    await until('the slow one is shown', async () =>
      (await samples('atelier_runs_open')).some(({ labels, value }) => labels.status === 'running' && value === 1),
    );
    const [oldest] = await readings('atelier_runs_open_oldest_seconds', ({ labels }) => labels.status === 'running');
    expect(oldest!.value).toBeGreaterThan(0);
    const calling = () => samples('atelier_runs_calling');
    await until('it is shown to call out', async () =>
      (await calling()).some(({ labels, value }) => labels.state === 'calling' && value === 1),
    );
    const [waiting] = await readings('atelier_runs_calling', ({ labels }) => labels.state === 'waiting');
    expect(waiting!.value).toBe(0);

    for (let times = 0; times < 2; times++) await api.post(`/api/v1/runs/${runId}/cancel`);
    await until('it is counted', async () => (await ended('cancelled')) > 0);
    expect(await ended('cancelled')).toBe(1);
  });

  test('include the outbox, the pools, the event loop and the Temporal SDK', async () => {
    const [depth] = await readings('atelier_outbox_entries');
    expect(depth!.value).toBeGreaterThanOrEqual(0);
    expect((await readings('atelier_outbox_oldest_seconds'))[0]!.value).toBeGreaterThanOrEqual(0);
    const pools = await samples('atelier_database_connections');
    expect(pools.map(({ labels }) => `${labels.pool} ${labels.state}`).sort()).toEqual(
      ['system', 'tenant'].flatMap((pool) => ['idle', 'in_use', 'waiting'].map((state) => `${pool} ${state}`)),
    );
    expect(await samples('nodejs_eventloop_lag_p99_seconds')).toHaveLength(1);
    const sdk = parse(await metricsOf(product.process)).filter(({ name }) => name.startsWith('temporal_'));
    expect(sdk.map(({ name }) => name)).toContain('temporal_workflow_completed_total');
    expect(sdk.map(({ name }) => name)).toContain('temporal_workflow_task_execution_latency_seconds_count');
    const text = await metricsOf(product.process);
    const types = [...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name);
    expect(new Set(types).size).toBe(types.length);
  });

  test('are returned in good time while the database does not answer, without its figures', async () => {
    const locker = new pg.Client({ connectionString: product.ownerUrl });
    await locker.connect();
    locker.on('error', () => {});
    await locker.query('begin; lock table outbox');
    await until('what was remembered is too old', async () => (await samples('atelier_outbox_entries')).length === 0);
    // As soon as one is: on a busy machine another one may take longer.
    await until('they are returned in good time', async () => {
      const began = performance.now();
      expect(await metricsOf(product.process)).toContain('atelier_http_request_duration_seconds_count');
      return performance.now() - began < 5_000;
    });
    await locker.end();
    await until('it answers again', async () => (await samples('atelier_outbox_entries')).length === 1);
  });

  test('are on a port of their own and nothing else is', async () => {
    const line = product.process.log.find(({ metrics }) => metrics)!;
    const base = new URL(line.metrics as string);
    expect(base.hostname).toBe('127.0.0.1');
    for (const path of ['/', '/api/v1/health', '/metrics/x'])
      expect((await fetch(new URL(path, base))).status).toBe(404);
    expect((await fetch(base, { method: 'POST' })).status).toBe(404);
    expect((await api.get('/metrics')).status).toBe(404);
  });
});

test('off is off', async () => {
  const without = await product.start(['api'], { METRICS_PORT: 'off' });
  expect(without.log.some(({ metrics }) => metrics)).toBe(false);
  expect((await apiClient(without.api).get('/api/version')).status).toBe(200);
  expect(await without.stop()).toBe(0);
});

describe('a worker that starts beside another process', () => {
  let fresh: ProductProcess;
  const metricsUrl = ({ log }: ProductProcess) => log.find(({ metrics }) => metrics)!.metrics as string;
  const faults = async (process: ProductProcess) => (await samples('atelier_credit_ledger_faults', process))[0]?.value;

  test('proves the ledger again, and what does not add up shows', async () => {
    await until('it was proved', async () => (await faults(product.process)) === 0);
    const owner = new pg.Client({ connectionString: product.ownerUrl });
    await owner.connect();
    await api.get('/api/v1/credits');
    const { rowCount } = await owner.query(
      'update credit_account set lasting = lasting - 1, spent = spent + 1 where lasting > 0',
    );
    expect(rowCount).toBeGreaterThan(0);
    await owner.query("update ledger_check set due_at = clock_timestamp() - interval '1 second'");
    await owner.end();
    // A worker that starts has everything swept.
    fresh = await product.start(['runs'], { METRICS_PORT: new URL(metricsUrl(product.process)).port });
    await until('the fault shows', async () => (await faults(fresh)) === rowCount);
    // Either process may have checked it.
    await until('it is logged', async () => {
      const lines = product.processes.flatMap(({ log }) => log);
      return lines.some(({ msg }) => msg === 'the credit ledger does not add up');
    });
  });

  test('and finds the port for its metrics taken serves them on another one', async () => {
    expect(await metricsOf(fresh)).toContain('temporal_');
    expect(new URL(metricsUrl(fresh)).port).not.toBe(new URL(metricsUrl(product.process)).port);
  });
});
