import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { findFreePort } from '../../local/ports.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { followEvents } from '../event-stream.ts';
import { openProduct, type Product } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { runningServers } from '../servers.ts';
import { withinMinute } from '../tenancy/rate-windows.ts';
import { until } from '../until.ts';

// The installation that docs/self-hosting.md describes: two API processes that share limits in Redis, behind nginx with
// deploy/nginx.conf.

let product: Product;
let processes: ProductProcess[];
let servers: ChildProcess[];
let proxy: string;

const accepts = (port: number) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });

/** deploy/nginx.conf for these ports, without TLS, as a whole configuration. */
function configuration(folder: string, port: number, apis: string[]): string {
  const deployed = readFileSync(new URL('../../deploy/nginx.conf', import.meta.url), 'utf8');
  const here = deployed
    .replace('listen 443 ssl;', `listen 127.0.0.1:${port};`)
    .replaceAll(/^ *ssl_certificate.*$/gm, '')
    .replace('127.0.0.1:3000', new URL(apis[0]!).host)
    .replace('127.0.0.1:3001', new URL(apis[1]!).host);
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return [
    'daemon off;',
    'worker_processes 1;',
    `pid ${folder}/nginx.pid;`,
    'error_log stderr;',
    'events { worker_connections 2048; }',
    `http {\naccess_log ${folder}/access.log;`,
    ...paths.map((name) => `${name}_temp_path ${folder}/${name};`),
    `${here}\n}`,
  ].join('\n');
}

beforeAll(async () => {
  const folder = mkdtempSync(join(runningServers().folder, 'proxy-'));
  mkdirSync(join(folder, 'logs'));
  const [redisPort, proxyPort] = [await findFreePort(), await findFreePort()];
  const redisOptions = ['--port', String(redisPort), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  servers = [spawn('/usr/bin/redis-server', redisOptions, { stdio: 'ignore' })];
  await until('Redis answers', () => accepts(redisPort));
  product = await openProduct();
  const env = { REDIS_URL: `redis://127.0.0.1:${redisPort}`, TRUSTED_PROXIES: '127.0.0.1' };
  processes = await Promise.all([product.start(['api', 'runs', 'generation'], env), product.start(['api'], env)]);
  const file = join(folder, 'nginx.conf');
  writeFileSync(
    file,
    configuration(
      folder,
      proxyPort,
      processes.map(({ api }) => api),
    ),
  );
  servers.push(spawn('/usr/sbin/nginx', ['-p', folder, '-c', file], { stdio: 'ignore' }));
  await until('the proxy answers', () => accepts(proxyPort));
  proxy = `http://127.0.0.1:${proxyPort}`;
});
afterAll(async () => {
  await product?.close();
  await Promise.all(servers.map(end));
});

/** Tells it to end, and waits until it has: nginx, were it killed, would leave its worker behind. */
async function end(server: ChildProcess): Promise<void> {
  if (server.exitCode !== null || server.signalCode !== null) return;
  const ended = once(server, 'exit');
  server.kill('SIGTERM');
  await ended;
}

async function keyWith(rateMinute: number): Promise<string> {
  const { id } = await createOrganization(product.database, { name: 'Behind', plan: 'enterprise', rateMinute });
  return (await createKey(product.database, { organizationId: id, environment: 'test' })).key;
}

const requestsOf = ({ log }: ProductProcess) => log.filter(({ msg }) => msg === 'request').length;

test('both processes serve, and a limit is exact over both', async () => {
  const answers = await withinMinute(async () => {
    const api = apiClient(proxy, await keyWith(40));
    return Promise.all([...Array(120)].map(() => api.get('/api/v1/health')));
  });
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(40);
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(80);
  // What a process logs may come after its answers.
  for (const one of processes) await until('each has had its share', async () => requestsOf(one) > 10);
});

test('a caller cannot choose the address by which failed keys are limited', async () => {
  const forged = [...Array(250)].map((_, index) =>
    fetch(`${proxy}/api/v1/health`, {
      headers: { authorization: `Bearer sk_test_wrong${index}`, 'x-forwarded-for': `203.0.113.${index}` },
    }),
  );
  const statuses = (await Promise.all(forged)).map(({ status }) => status);
  // Each process counts failures for itself.
  expect(statuses.filter((status) => status === 401).length).toBeLessThanOrEqual(200);
  expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(50);
});

test('events are passed on as they come', async () => {
  const key = await keyWith(6_000);
  const api = apiClient(proxy, key);
  const { id } = await makeWorkflow(api, {
    steps: [
      { id: 'first', type: 'prompt', prompt: 'One' },
      { id: 'last', type: 'prompt', prompt: 'sandbox:slow=8 Two' },
    ],
  });
  // On a busy machine a run may be over before its first event is read: then another one is followed.
  await until('a run is still under way at its first events', async () => {
    const { body } = await api.post(`/api/v1/workflows/${id}/execute`, { inputs: {} }, { 'x-api-variant': 'B' });
    const { runId } = body.data;
    const stream = await followEvents(`${proxy}/api/v1/runs/${runId}/events`, key);
    const atFirst: string[] = [];
    for await (const { name } of stream.events) {
      if (name === 'step.completed' && atFirst.length === 0) {
        const { status } = (await api.get(`/api/v1/runs/${runId}`, { 'x-api-variant': 'B' })).body.data;
        atFirst.push(status);
      }
      if (name === 'run.completed') break;
    }
    expect(atFirst).toHaveLength(1);
    return atFirst[0] === 'running';
  });
});

test('a process that stops takes no request with it', async () => {
  // More than four callers ask for in a minute, however fast the machine and however long the stop.
  const api = apiClient(proxy, await keyWith(1_000_000));
  const statuses: number[] = [];
  const done = new AbortController();
  const callers = Promise.all(
    [1, 2, 3, 4].map(async () => {
      while (!done.signal.aborted) statuses.push((await api.get('/api/v1/workflows')).status);
    }),
  );
  await until('requests are answered', async () => statuses.length > 40);
  await processes[1]!.stop();
  const before = statuses.length;
  await until('the other process goes on', async () => statuses.length > before + 100);
  done.abort();
  await callers;
  expect(new Set(statuses)).toEqual(new Set([200]));
});
