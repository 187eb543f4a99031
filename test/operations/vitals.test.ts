import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { forgetOldVitals } from '../../src/operations/vitals.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { startProduct } from '../product.ts';
import { until } from '../until.ts';

// A product of its own: vitals belong to no tenant.
let product: Awaited<ReturnType<typeof startProduct>>;
let browser: ApiClient;
beforeAll(async () => {
  product = await startProduct();
  browser = apiClient(product.process.api);
});
afterAll(() => product.close());

const path = '/api/performance/vitals';
const asText = { 'content-type': 'text/plain;charset=UTF-8' };
const summary = async () => (await product.api.get(path)).body.vitals;
const rows = async () => (await product.database.pool.query('select * from vital')).rows;

test('beacons of every form become percentiles by measure and page, for any key', async () => {
  expect(await summary()).toEqual([]);
  const one = { name: 'LCP', value: 300, id: 'v4-1', path: '/workflows/wf_0199aaaabbbb7ccc8dddeeeeffff0000?tab=1' };
  expect(await browser.post(path, one)).toMatchObject({ status: 204, body: '' });
  const more = [1, 2, 4, 5, 6, 7, 8, 9, 10].map((n) => ({ ...one, value: n * 100, rating: 'good', delta: 1 }));
  expect((await browser.post(path, more)).status).toBe(204);
  expect((await browser.post(path, JSON.stringify({ name: 'CLS', value: 0.04 }), asText)).status).toBe(204);
  expect((await browser.post(path, [{ name: 'CLS', value: 0 }], { 'content-type': 'text/plain' })).status).toBe(204);
  expect(await summary()).toEqual([
    { name: 'CLS', path: null, count: 2, p50: 0, p75: 0.04, p95: 0.04 },
    { name: 'LCP', path: '/workflows/:id', count: 10, p50: 500, p75: 800, p95: 1000 },
  ]);
  const { liveKey } = await product.createTenant();
  expect((await apiClient(product.process.api, liveKey).get(path)).body.vitals).toHaveLength(2);
});

test('another process sees them too, and what it has gathered when it stops is written', async () => {
  const other = await product.start(['api']);
  await browser.post(path, { name: 'TTFB', value: 12 });
  const client = apiClient(other.api, product.tenant.testKey);
  await until('they arrive', async () =>
    (await client.get(path)).body.vitals.some(({ name }: { name: string }) => name === 'TTFB'),
  );
  await apiClient(other.api).post(path, { name: 'FCP', value: 7 });
  expect(await other.stop()).toBe(0);
  expect((await rows()).map(({ name }) => name)).toContain('FCP');
});

test('reading needs a key', async () => {
  expect(await browser.get(path)).toMatchObject({ status: 401, body: { error: { code: 'unauthorized' } } });
});

describe('what browsers may not send', () => {
  test.each([
    ['no value', { name: 'LCP' }, 'value'],
    ['no name', { value: 1 }, 'name'],
    ['a name of nothing', { name: '', value: 1 }, 'name'],
    ['a name with markup', { name: '<script>', value: 1 }, 'name'],
    ['a long name', { name: 'x'.repeat(41), value: 1 }, 'name'],
    ['a value that is text', { name: 'LCP', value: '1' }, 'value'],
    ['a negative value', { name: 'LCP', value: -1 }, 'value'],
    ['a value beyond reason', { name: 'LCP', value: 1e300 }, 'value'],
    ['a path that is none', { name: 'LCP', value: 1, path: 'javascript:alert(1)' }, 'path'],
    ['a path in another script', { name: 'LCP', value: 1, path: '/ö' }, 'path'],
    ['a bad one among good ones', [{ name: 'LCP', value: 1 }, { name: 'LCP' }], '1.value'],
    ['an empty list', [], ''],
    ['a number', 5, ''],
    ['null', null, ''],
  ])('%s', async (_, body, place) => {
    const before = await summary();
    for (const headers of [{}, asText]) {
      expect(await browser.post(path, JSON.stringify(body), headers)).toMatchObject({
        status: 400,
        body: { error: { code: 'validation_error', details: { errors: [{ path: place }] } } },
      });
    }
    expect(await summary()).toEqual(before);
  });

  test.each([
    ['', 400],
    ['not json', 400],
    ['{"name":"LCP","value":1', 400],
    ['[1e999]', 400],
    [`[${'1,'.repeat(8_200)}1]`, 413],
    [`{"name":"LCP","value":1,"id":"${'x'.repeat(16 * 1024)}"}`, 413],
  ])('the body %.30s', async (body, status) => {
    expect((await browser.post(path, body, asText)).status).toBe(status);
  });

  test('another kind of body', async () => {
    const answer = await browser.post(path, 'name=LCP&value=1', {
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect(answer).toMatchObject({ status: 415, body: { error: { code: 'unsupported_media_type' } } });
  });
});

test('a flood of names and pages fills no disk and keeps no known page out', async () => {
  const junk = (page: number) =>
    Array.from({ length: 100 }, (_, n) => ({ name: n % 2 ? 'FID' : `x${n}`, value: n, path: `/p${page}-${n}` }));
  await browser.post(path, { name: 'INP', value: 15 });
  await summary();
  const answers = await Promise.all(Array.from({ length: 100 }, (_, page) => browser.post(path, junk(page))));
  expect(answers.every(({ status }) => status === 204)).toBe(true);
  for (let n = 0; n < 30; n++) {
    const values = Array.from({ length: 150 }, () => ({ name: 'LCP', value: 250, path: '/busy' }));
    expect((await browser.post(path, n === 0 ? { name: 'INP', value: 15 } : values)).status).toBe(204);
  }
  await summary();
  const kept = await rows();
  expect(kept.length).toBeLessThanOrEqual(200);
  expect((await summary()).filter(({ name }: { name: string }) => name.startsWith('x'))).toEqual([]);
  expect(Math.max(...kept.map(({ samples }) => samples.length))).toBeLessThanOrEqual(500);
  expect(await summary()).toContainEqual(expect.objectContaining({ name: 'INP', count: 2 }));
});

test('pages without new measurements are removed after four weeks', async () => {
  const { database } = product;
  const inDays = (days: number) => new Date(Date.now() + days * 86_400_000);
  expect((await rows()).length).toBeGreaterThan(0);
  expect(await forgetOldVitals(database, inDays(27))).toBe(0);
  expect(await forgetOldVitals(database, inDays(29))).toBeGreaterThan(0);
  expect(await rows()).toEqual([]);
});
