import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { findFreePort } from '../../local/ports.ts';
import { createKey } from '../../src/tenancy/keys.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { personWith, sendForm } from '../accounts/people.ts';
import { apiClient } from '../api-client.ts';
import { makeWorkflow } from '../automation/make-workflow.ts';
import { followEvents } from '../event-stream.ts';
import { secrets } from '../operator.ts';
import { openProduct, type Product } from '../product.ts';
import type { ProductProcess } from '../product-process.ts';
import { sceneOf } from '../scheduling/scene.ts';
import { withinMinute } from '../tenancy/rate-windows.ts';
import { until } from '../until.ts';

let product: Product;
let port: number;
let redis: ChildProcess;
let processes: ProductProcess[];

function startRedis(): ChildProcess {
  const options = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  return spawn('/usr/bin/redis-server', options, { stdio: 'ignore' });
}

const answers = () =>
  new Promise<boolean>((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true));
    socket.on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });

beforeAll(async () => {
  port = await findFreePort();
  redis = startRedis();
  await until('Redis answers', answers);
  product = await openProduct();
  const env = { ...secrets, REDIS_URL: `redis://127.0.0.1:${port}` };
  processes = await Promise.all([product.start(['api'], env), product.start(['api'], env)]);
});
afterAll(async () => {
  await product.close();
  redis.kill('SIGKILL');
});

async function spend(rateMinute: number, requests: number): Promise<number[]> {
  const { id } = await createOrganization(product.database, { name: 'Shared', plan: 'enterprise', rateMinute });
  const { key } = await createKey(product.database, { organizationId: id, environment: 'test' });
  const sent = Array.from({ length: requests }, (_, index) =>
    apiClient(processes[index % 2]!.api, key).get('/api/v1/health'),
  );
  return (await Promise.all(sent)).map(({ status }) => status);
}

const allowed = (statuses: number[]) => statuses.filter((status) => status === 200).length;

describe('limits over several processes', () => {
  test('are exact: what one lets through the other counts', async () => {
    const statuses = await withinMinute(() => spend(60, 200));
    expect(allowed(statuses)).toBe(60);
    expect(statuses.filter((status) => status === 429)).toHaveLength(140);
  });

  test('are exact for an operation that has a limit of its own, and what it refuses counts nowhere', async () => {
    const { transcriptions, speech, headers } = await withinMinute(async () => {
      const { id } = await createOrganization(product.database, { name: 'Voice', plan: 'enterprise', rateMinute: 100 });
      const { key } = await createKey(product.database, { organizationId: id, environment: 'test' });
      const clients = processes.map((one) => apiClient(one.api, key));
      const send = (path: string, times: number) =>
        Promise.all(Array.from({ length: times }, (_, index) => clients[index % 2]!.post(path, {})));
      const first = await send('/api/voice/stt', 100);
      const second = await send('/api/voice/tts', 100);
      const { headers: last } = await clients[0]!.get('/api/v1/health');
      return { transcriptions: first, speech: second, headers: last };
    });
    expect(transcriptions.map(({ status }) => status).toSorted()).toEqual([
      ...Array(30).fill(415),
      ...Array(70).fill(429),
    ]);
    expect(speech.map(({ status }) => status).toSorted()).toEqual([...Array(60).fill(400), ...Array(40).fill(429)]);
    expect([headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual(['100', '9']);
  });

  test('hold for what is open, too, and a place that is given free can be taken elsewhere', async () => {
    const limits = { rateMinute: 10_000, rateDay: 10_000 };
    const { id } = await createOrganization(product.database, { name: 'Open', plan: 'free', ...limits });
    const { key } = await createKey(product.database, { organizationId: id, environment: 'test' });
    const [one, other] = processes.map(({ api }) => api) as [string, string];
    const workflow = await makeWorkflow(apiClient(one, key));
    // No process performs it: its streams stay open.
    const execute = `/api/v1/workflows/${workflow.id}/execute`;
    const { runId } = (await apiClient(one, key).post(execute, { async: true })).body.data;
    const follow = (base: string) => followEvents(`${base}/api/v1/runs/${runId}/events`, key);
    const streams = await Promise.all(Array.from({ length: 16 }, (_, index) => follow(index % 2 ? one : other)));
    const open = streams.filter(({ status }) => status === 200);
    expect(open).toHaveLength(10);
    expect(streams.filter(({ status }) => status === 429)).toHaveLength(6);
    for (const stream of open) stream.close();
    await until('the places are free', async () => {
      const again = await Promise.all(Array.from({ length: 10 }, () => follow(one)));
      for (const stream of again) stream.close();
      return again.every(({ status }) => status === 200);
    });
  });

  test('hold for passwords that are tried: the tries at all processes count together, and a right one counts at none', async () => {
    const { id: organizationId } = await createOrganization(product.database, { name: 'People', plan: 'free' });
    const { email, cookie } = await personWith({ ...product, base: processes[0]!.api, organizationId }, 'member');
    const password = 'seven blue boats at noon';
    await sendForm(`${processes[0]!.api}/api/auth/password`, { newPassword: password }, { cookie });
    const signIn = async (index: number, fields: Record<string, string>) =>
      (await sendForm(`${processes[index % 2]!.api}/api/auth/sign-in`, fields)).status;
    const statuses: number[] = [];
    for (let index = 0; index < 14; index++) {
      statuses.push(await signIn(index, { email, password: 'not the right one' }));
      // A right one between them ends no window, and fills none.
      if (index === 5)
        expect([await signIn(0, { email, password }), await signIn(1, { email, password })]).toEqual([303, 303]);
    }
    expect(statuses).toEqual([...Array(10).fill(401), ...Array(4).fill(429)]);
    expect([await signIn(0, { email, password }), await signIn(1, { email, password })]).toEqual([429, 429]);
  });

  test('hold for bookings on public pages: an address makes 20 in an hour at all processes together', async () => {
    const { id: organizationId } = await createOrganization(product.database, { name: 'Booked', plan: 'enterprise' });
    const { key } = await createKey(product.database, { organizationId, environment: 'test' });
    const made = await sceneOf(apiClient(processes[0]!.api, key)).offer({ name: 'Talk' });
    const path = new URL(made.bookingUrl).pathname;
    const statuses: number[] = [];
    for (let index = 0; index < 22; index++) {
      const page = `${processes[index % 2]!.api}${path}`;
      const start = new Date(Date.UTC(2051, 2, 1 + index, 10)).toISOString();
      const form = await (await fetch(`${page}?start=${start}`)).text();
      const fields = {
        start,
        token: /name="token" value="([^"]+)"/.exec(form)![1]!,
        name: 'Ada',
        email: `ada${index}@example.com`,
      };
      const headers = { origin: new URL(made.bookingUrl).origin, 'sec-fetch-site': 'same-origin' };
      const sent = await fetch(page, {
        method: 'POST',
        headers,
        body: new URLSearchParams({ website: '', timezone: 'UTC', ...fields }),
      });
      statuses.push(sent.status);
    }
    expect(statuses).toEqual([...Array(20).fill(200), 429, 429]);
  });

  test('go on per process while Redis is away, and no request fails for it', async () => {
    redis.kill('SIGKILL');
    await once(redis, 'exit');
    const statuses = await withinMinute(() => spend(10, 60));
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect(allowed(statuses)).toBe(20);
  });

  test('are exact again once Redis is back', async () => {
    redis = startRedis();
    await until('Redis answers', answers);
    await until('limits are shared again', async () => allowed(await withinMinute(() => spend(5, 20))) === 5);
  });

  test('hold while Redis accepts and never answers', async () => {
    redis.kill('SIGSTOP');
    try {
      expect(allowed(await withinMinute(() => spend(5, 20), 15))).toBe(10);
    } finally {
      redis.kill('SIGCONT');
    }
  });
});
