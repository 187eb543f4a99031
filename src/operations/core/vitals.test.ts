import { describe, expect, test } from '@jest/globals';
import { keptValues, maxSeries, pageOf, VitalsBatch } from './vitals.ts';

describe('pages', () => {
  test.each([
    ['/', '/'],
    ['/workflows', '/workflows'],
    ['/workflows/0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000', '/workflows/:id'],
    ['/runs/run_0199aaaabbbb7ccc8dddeeeeffff0000/steps/3?tab=2#x', '/runs/:id/steps/:id'],
    ['/v1/webhooks/wf_0199aaaabbbb7ccc8dddeeeeffff0000/trg_k3XFdN0uUl1', '/v1/webhooks/:id/:id'],
    ['/a/k3XFdN0uUl1', '/a/:id'],
    ['/api/auth/link/k3XFdN0uUl1', '/api/auth/link/:id'],
    ['/api/auth/invitations/k3XFdN0uUl1', '/api/auth/invitations/:id'],
    ['', ''],
    ['/<script>alert(1)</script>/a_b.c:d-e', '/scriptalert1/script/a_b.c:d-e'],
    [`/%3Cimg src=x onerror='x'>\u0000\u2028ä`, '/3Cimgsrcxonerrorx'],
  ])('%s is the page %s', (path, page) => expect(pageOf(path)).toBe(page));

  test('have names of bounded length', () => {
    expect(pageOf(`/${'x'.repeat(5_000)}`)).toHaveLength(200);
  });
});

describe('a batch', () => {
  test('counts all and keeps the latest', () => {
    const batch = new VitalsBatch();
    for (let value = 0; value < keptValues + 10; value++) batch.add({ name: 'LCP', path: '/', value });
    const [series] = batch.take();
    expect(series).toMatchObject({ name: 'LCP', path: '/', count: keptValues + 10 });
    expect(series!.values).toHaveLength(keptValues);
    expect(series!.values[0]).toBe(10);
    expect(batch.take()).toEqual([]);
  });

  test('has room for so many series and no more', () => {
    const batch = new VitalsBatch();
    for (let page = 0; page < 10 * maxSeries; page++) batch.add({ name: 'LCP', path: `/${page}x`, value: 1 });
    expect(batch.take()).toHaveLength(maxSeries);
  });

  test('has room for a page that is kept, whatever else came', () => {
    const batch = new VitalsBatch();
    batch.add({ name: 'LCP', path: '/home', value: 1 });
    for (const series of batch.take()) batch.keep(series);
    for (let page = 0; page < 10 * maxSeries; page++) batch.add({ name: 'LCP', path: `/${page}x`, value: 1 });
    batch.add({ name: 'LCP', path: '/home', value: 2 });
    expect(batch.take()).toContainEqual({ name: 'LCP', path: '/home', values: [2], count: 1 });
  });
});
