import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Answer, type ApiClient, apiClient } from '../api-client.ts';
import type { OwnApi } from '../own-api.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { rawRequest } from './raw-request.ts';

let product: StartedProduct;
let own: OwnApi;
let base: string;
let anonymous: ApiClient;

beforeAll(async () => {
  product = await sharedProduct();
  // The limits of an installation that sets none.
  own = await product.serve({ ADDRESS_RATE_MAX: '' });
  base = own.api;
  anonymous = apiClient(base);
});
afterAll(() => product.close());

/** Sends requests together: one after another they take too much of the minute that is counted, on a busy machine. */
const together = <Each>(count: number, send: () => Promise<Each>) => Promise.all(Array.from({ length: count }, send));

/** Requests from an address of their own: how many were let through, and one that was not. */
async function untilLimited(address: string, send: (headers: Record<string, string>) => Promise<Answer>) {
  const headers = { 'x-forwarded-for': address };
  for (let count = 0; count < 400; ) {
    const answers = await together(20, () => send(headers));
    const limited = answers.filter(({ status }) => status === 429);
    count += answers.length - limited.length;
    if (limited.length > 0) return { count, answer: limited[0]! };
  }
  throw new Error('No request was limited.');
}

const limited = (limit: number) => ({ error: { code: 'rate_limit_exceeded', details: { limit } } });
/** One that no page has. Each page has a limit of its own. */
const token = () => randomBytes(16).toString('base64url');
const approvalToken = () => randomBytes(32).toString('base64url');
let clients = 0;
const vital = { name: 'LCP', value: 1 };

describe('requests without a proof are limited by address', () => {
  test.each([
    ['pages of bookings', (headers: Record<string, string>) => anonymous.get(`/b/${token()}`, headers)],
    ['pages of approvals', (headers: Record<string, string>) => anonymous.get(`/a/${approvalToken()}`, headers)],
    ['forms of approvals', (headers: Record<string, string>) => anonymous.post(`/a/${approvalToken()}`, {}, headers)],
    ['forms of bookings', (headers: Record<string, string>) => anonymous.post(`/b/${token()}/cancel`, {}, headers)],
    ['pages that do not exist', (headers: Record<string, string>) => anonymous.get('/b/no/such/page', headers)],
    ['web vitals', (headers: Record<string, string>) => anonymous.post('/api/performance/vitals', vital, headers)],
    [
      'events of providers',
      (headers: Record<string, string>) => anonymous.post('/api/v1/integrations/slack/events', {}, headers),
    ],
    ['reports of providers', (headers: Record<string, string>) => anonymous.post('/hooks/fal/gen_1', {}, headers)],
    [
      'notices of calendars',
      (headers: Record<string, string>) => anonymous.post('/api/calendar-push/google', {}, headers),
    ],
    [
      'unreadable notices',
      (headers: Record<string, string>) => anonymous.post('/api/calendar-push/microsoft', {}, headers),
    ],
  ])('%s', async (_, send) => {
    const { count, answer } = await untilLimited(`198.51.100.${++clients}`, send);
    expect(count).toBe(120);
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(answer.headers.get('x-ratelimit-limit')).toBeNull();
    expect(answer.body).toMatchObject(limited(120));
    // Another address is not.
    expect((await send({ 'x-forwarded-for': '203.0.113.9' })).status).not.toBe(429);
  });

  test('a path that is written in another way counts with the others', async () => {
    const address = { 'x-forwarded-for': '192.0.2.77' };
    await together(120, () => anonymous.get(`/b/${token()}`, address));
    const disguised = await rawRequest(base, { method: 'GET', path: `/%62/${'x'.repeat(22)}`, headers: address });
    expect([404, 429]).toContain(disguised.status);
    expect((await anonymous.get(`/b/${'y'.repeat(22)}`, address)).status).toBe(429);
  });

  test('on loopback too', async () => {
    const answers = await together(121, () => anonymous.get('/b/nothing'));
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(1);
  });

  test('ADDRESS_RATE_MAX changes the limits, and 0 turns them off', async () => {
    const few = apiClient((await product.serve({ ADDRESS_RATE_MAX: '3' })).api);
    const none = apiClient((await product.serve({ ADDRESS_RATE_MAX: '0' })).api);
    const { count } = await untilLimited('192.0.2.1', (headers) => few.get('/b/nothing', headers));
    expect(count).toBe(3);
    for (const { status } of await together(150, () => none.get('/b/nothing'))) expect(status).not.toBe(429);
  });
});

describe('bodies of callers who have proved nothing', () => {
  const body = 'x'.repeat(700 * 1024);
  const small = 'x'.repeat(65 * 1024);

  test('are not read where the headers have no proof', async () => {
    // More than is ever read: an answer shows that the server did not wait for it.
    const declared = { 'content-length': '900000', 'content-type': 'application/json', expect: '100-continue' };
    for (const path of [
      '/api/v1/integrations/slack/events',
      '/api/v1/integrations/hubspot/events',
      '/hooks/fal/gen_1',
    ]) {
      const answer = await rawRequest(base, {
        method: 'POST',
        path,
        headers: { ...declared, 'x-forwarded-for': '192.0.2.2' },
      });
      expect(answer.status).toBe(401);
    }
  });

  test('are read up to 64 KiB where the proof is in the body', async () => {
    const json = { 'content-type': 'application/json', 'x-forwarded-for': '192.0.2.3' };
    for (const path of ['/api/v1/integrations/microsoft-teams/events', '/api/calendar-push/microsoft']) {
      expect((await anonymous.post(path, small, json)).status).toBe(413);
      expect((await anonymous.post(path, body, json)).status).toBe(413);
    }
  });
});

test('names of vitals that browsers do not measure are dropped', async () => {
  const address = { 'x-forwarded-for': '192.0.2.4' };
  const sent = [
    { name: 'Custom', value: 1 },
    { name: 'FID', value: 2 },
  ];
  expect((await anonymous.post('/api/performance/vitals', sent, address)).status).toBe(204);
  expect((await anonymous.post('/api/performance/vitals', { name: 'x1', value: 2 }, address)).status).toBe(204);
  const { testKey } = await product.createTenant();
  const { vitals } = (await apiClient(base, testKey).get('/api/performance/vitals')).body;
  const names = vitals.map(({ name }: { name: string }) => name);
  expect(names).toContain('FID');
  expect(names).not.toContain('Custom');
  expect(names).not.toContain('x1');
});

describe('pages with a token in their path', () => {
  test('are never cached, whatever the answer', async () => {
    const address = { 'x-forwarded-for': '192.0.2.50' };
    const answers = [
      await anonymous.get(`/b/${token()}`, address),
      await anonymous.get('/b/no/such/page', address),
      await anonymous.get(`/a/${approvalToken()}`, address),
      await anonymous.request('DELETE', `/b/${token()}`, undefined, address),
      (await untilLimited('192.0.2.51', (headers) => anonymous.get(`/b/${token()}`, headers))).answer,
    ];
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 405, 429]);
    for (const { headers } of answers) {
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('x-robots-tag')).toBe('noindex');
    }
  });

  test('are written without it in logs and vitals', async () => {
    const address = { 'x-forwarded-for': '192.0.2.52' };
    const [secret, ofApproval] = [token(), approvalToken()];
    await anonymous.get(`/b/${secret}`, address);
    await anonymous.post(`/b/${secret}/cancel`, {}, address);
    await anonymous.get(`/a/${ofApproval}`, address);
    await anonymous.post(`/a/${ofApproval}`, {}, address);
    const [ofLink, ofInvitation] = [token(), token()];
    const pages = [`/api/auth/link/${ofLink}`, `/api/auth/invitations/${ofInvitation}`];
    for (const path of pages) expect((await anonymous.get(path, address)).status).toBe(404);
    for (const path of [`/b/${secret}`, `/a/${ofApproval}`, ...pages]) {
      const beacon = { name: 'LCP', value: 1, path };
      expect((await anonymous.post('/api/performance/vitals', beacon, address)).status).toBe(204);
    }
    const { testKey } = await product.createTenant();
    const { vitals } = (await apiClient(base, testKey).get('/api/performance/vitals')).body;
    expect(vitals.map(({ path }: { path: string | null }) => path)).toContain('/b/:id');
    const logs = JSON.stringify(own.log);
    expect(own.log.map(({ route }) => route)).toEqual(expect.arrayContaining(['/b/{token}', '/a/{token}']));
    for (const text of [secret, ofApproval, ofLink, ofInvitation]) {
      expect(JSON.stringify(vitals)).not.toContain(text);
      expect(logs).not.toContain(text);
    }
  });
});
