import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { clock } from '../../src/platform/clock.ts';
import { catalog } from '../../src/services.ts';
import { apiClient } from '../api-client.ts';
import { advance } from '../clock.ts';
import { openProduct, type Product } from '../product.ts';
import { until } from '../until.ts';

let product: Product;
let base: string;

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;

beforeAll(async () => {
  product = await openProduct();
  base = (await product.start(['api', 'runs', 'generation'])).api;
});
afterAll(() => product.close());

interface Limit {
  name: string;
  allowed: number;
  used: number | null;
  resetsAt?: string;
}

test('limits say how much of them is used, and when the count begins again', async () => {
  // A new day, so that no window ends during the test.
  await advance(product, dayMs - (clock.now() % dayMs));
  const tenant = await product.createTenant({ plan: 'enterprise' });
  const api = apiClient(base, tenant.testKey);
  const read = async (of = api): Promise<Map<string, Limit>> => {
    const { status, body } = await of.get('/api/v1/limits');
    expect(status).toBe(200);
    return new Map(body.data.limits.map((limit: Limit) => [limit.name, limit]));
  };
  const before = await read();
  expect([...before.keys()]).toEqual([...catalog.limits.map(({ name }) => name), 'keys']);
  // Nothing is counted against a weight, or a time.
  const uncounted = [...before.values()].filter(({ used }) => used === null).map(({ name }) => name);
  expect(uncounted).toEqual(['fairnessWeight', 'retentionDays']);

  const steps = [{ id: 'ask', type: 'approval', message: 'Ship?' }];
  const { id } = (await api.post('/api/v1/workflows', { name: 'Ask', steps })).body.data;
  await api.post('/api/v1/workflows', { name: 'Other', steps });
  await api.delete(`/api/v1/workflows/${(await api.post('/api/v1/workflows', { name: 'Gone', steps })).body.data.id}`);
  await api.request('PUT', `/api/v1/workflows/${id}/schedule`, { cron: '0 9 * * *', timezone: 'UTC', paused: true });
  await api.post('/api/v1/webhooks', { name: 'W', url: 'https://example.com/hook', events: ['*'] });
  await api.post(`/api/v1/workflows/${id}/execute`, { input: 'x'.repeat(5_000), async: true });
  await api.post('/api/v1/scheduling/event-types', { name: 'Intro', duration: 30 });
  await api.post('/api/voice/tts', { text: 'Hello' });
  const used = await until('the approval is open', async () => {
    const limits = await read();
    return limits.get('openApprovals')!.used === 1 && limits.get('waitingRuns')!.used === 1 && limits;
  });
  const of = (name: string) => used.get(name)!.used;
  expect({
    workflows: of('workflows'),
    schedules: of('schedules'),
    webhooks: of('webhooks'),
    eventTypes: of('eventTypes'),
    keys: of('keys'),
    callingRuns: of('callingRuns'),
    waitingDeliveries: of('waitingDeliveries'),
    mailsPerDay: of('mailsPerDay'),
    tts: of('operationsPerMinute.tts'),
  }).toEqual({
    workflows: 2,
    schedules: 1,
    webhooks: 1,
    eventTypes: 1,
    keys: 2,
    callingRuns: 0,
    waitingDeliveries: 0,
    mailsPerDay: 0,
    tts: 1,
  });
  expect(of('storageBytes')).toBeGreaterThanOrEqual(5_000);
  expect(of('requestsPerMinute')).toBeGreaterThanOrEqual(9);
  expect(of('requestsPerDay')).toBe(of('requestsPerMinute'));
  const tomorrow = new Date((Math.floor(clock.now() / dayMs) + 1) * dayMs);
  for (const name of ['requestsPerDay', 'mailsPerDay']) {
    expect(used.get(name)!.resetsAt).toBe(tomorrow.toISOString());
  }
  expect(used.get('workflows')).not.toHaveProperty('resetsAt');

  const live = await read(apiClient(base, tenant.liveKey));
  expect(live.get('workflows')!.used).toBe(0);
  expect(live.get('keys')!.used).toBe(2);

  await advance(product, minuteMs);
  const later = await read();
  expect(later.get('operationsPerMinute.tts')!.used).toBe(0);
  expect(later.get('requestsPerMinute')!.used).toBe(1);
  expect(later.get('requestsPerDay')!.used).toBeGreaterThan(of('requestsPerDay')!);
  await advance(product, dayMs);
  expect((await read()).get('requestsPerDay')!.used).toBe(1);
});

test('open streams count while they are open', async () => {
  const tenant = await product.createTenant({ plan: 'enterprise' });
  const api = apiClient(base, tenant.testKey);
  const open = async () =>
    (await api.get('/api/v1/limits')).body.data.limits.find(({ name }: Limit) => name === 'eventStreams').used;
  const closing = new AbortController();
  const stream = await fetch(`${base}/api/v1/runs/events?tag=open`, {
    headers: { authorization: `Bearer ${tenant.testKey}`, accept: 'text/event-stream' },
    signal: closing.signal,
  });
  expect(stream.status).toBe(200);
  expect(await open()).toBe(1);
  closing.abort();
  await until('the stream is closed', async () => (await open()) === 0);
});
