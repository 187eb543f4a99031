import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { apiClient } from '../api-client.ts';
import { notYetBuilt } from '../openapi/published-endpoints.ts';
import { asOperator } from '../operator.ts';
import { type Product, sharedProduct, type Tenant } from '../product.ts';

let product: Product;
let tenant: Tenant;
let base: string;
beforeAll(async () => {
  const shared = await sharedProduct();
  product = shared;
  tenant = shared.tenant;
  base = shared.process.api;
});
afterAll(() => product.close());

describe('the reference page', () => {
  test('is ours from end to end: nothing in it is from elsewhere, nothing in it is run that is not a file of ours', async () => {
    const answer = await fetch(`${base}/docs`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^text\/html; charset=utf-8/i);
    const html = await answer.text();
    expect(html).not.toMatch(/https?:|\/\/[a-z]|@import|url\(/i);
    const sources = [...html.matchAll(/\b(?:src|href|data-url)="([^"]*)"/g)].map(([, url]) => url);
    expect(sources).toEqual(['/openapi.json', '/docs/scalar.js']);
    // Scripts without a source are data, which the policy does not run.
    expect(
      [...html.matchAll(/<script(?![^>]*src=)([^>]*)>/g)].every(([, rest]) => rest!.includes('application/json')),
    ).toBe(true);
    expect(html).toContain('&quot;url&quot;:&quot;/openapi.json&quot;');
    expect(html).toContain('&quot;preferredSecurityScheme&quot;:&quot;bearer&quot;');
  });

  test('is kept from asking anybody else by its policy', async () => {
    const policy = (await fetch(`${base}/docs`)).headers.get('content-security-policy')!;
    const directives = Object.fromEntries(
      policy.split('; ').map((one) => [one.split(' ')[0], one.split(' ').slice(1)]),
    );
    expect(directives['default-src']).toEqual(["'none'"]);
    expect(directives['script-src']).toEqual(["'self'"]);
    expect(directives['connect-src']).toEqual(["'self'"]);
    expect(directives['frame-ancestors']).toEqual(["'none'"]);
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval/);
  });

  test('comes with its script, compressed', async () => {
    const answer = await fetch(`${base}/docs/scalar.js`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8');
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    const script = await answer.text();
    expect(script.length).toBeGreaterThan(1_000_000);
    expect(() => new Function(script)).not.toThrow();
    expect(script).toContain('createApiReference');
  });

  test('needs no key, and its paths answer nothing else', async () => {
    expect((await fetch(`${base}/docs`, { method: 'POST' })).status).toBe(405);
    expect((await fetch(`${base}/docs/../../package.json`)).status).toBe(404);
    expect((await fetch(`${base}/docs/other.js`)).status).toBe(404);
  });
});

describe('the address alone', () => {
  test('shows browsers and programs what exists', async () => {
    const browser = await fetch(`${base}/`, { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } });
    expect(browser.status).toBe(200);
    expect(browser.headers.get('vary')).toMatch(/accept/i);
    const html = await browser.text();
    const links = [...html.matchAll(/<a href="([^"]*)"/g)].map(([, url]) => url!);
    expect(html).not.toMatch(/<script|https?:/);
    expect(html).toMatch(/<main>[\s\S]*<\/main>/);
    // Its one style and its icon are what the policy allows.
    const policy = browser.headers.get('content-security-policy')!;
    const style = createHash('sha256')
      .update(/<style>([\s\S]*)<\/style>/.exec(html)![1]!)
      .digest('base64');
    expect(policy).toContain(`style-src 'sha256-${style}'`);
    expect(policy).toContain("img-src 'self'");
    const icon = await fetch(base + /<link rel="icon" href="([^"]*)"/.exec(html)![1]!);
    expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/svg+xml']);
    expect((await fetch(`${base}/favicon.ico`)).status).toBe(200);
    const program = await fetch(base);
    const { name, version, ...rest } = (await program.json()) as Record<string, string>;
    expect([name, version]).toEqual(['Atelier', expect.stringMatching(/^\d/)]);
    expect(rest).toEqual({
      docs: '/docs',
      guides: '/docs/guides',
      openapi: '/openapi.json',
      health: '/api/health',
    });
    expect(Object.values(rest)).toEqual(links);
    for (const path of links)
      expect({ path, status: (await fetch(base + path)).status }).toEqual({ path, status: 200 });
  });
});

describe('every answer', () => {
  const requests: [string, string, RequestInit][] = [
    ['a page', '/docs', {}],
    ['a guide', '/docs/guides/webhooks', {}],
    ['an image of a guide', '/docs/guides/images/dead-letter.png', {}],
    ['the document', '/openapi.json', {}],
    ['a probe', '/api/ready', {}],
    ['a success', '/api/v1/health', {}],
    ['a refusal', '/api/v1/workflows', { headers: { authorization: 'Bearer nonsense' } }],
    ['an unknown path', '/nowhere', {}],
    ['a wrong method', '/api/version', { method: 'DELETE' }],
    [
      'a broken body',
      '/api/v1/workflows',
      { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } },
    ],
    ['another kind of body', '/api/v1/workflows', { method: 'POST', body: 'x' }],
    ['nothing', '/api/performance/vitals', { method: 'POST', body: '{"name":"LCP","value":1}' }],
    ['the operator’s', '/api/admin/health', { headers: asOperator }],
  ];
  const ask = (path: string, { headers, ...init }: RequestInit = {}) =>
    fetch(base + path, { ...init, headers: { authorization: `Bearer ${tenant.testKey}`, ...(headers as object) } });

  test.each(requests)('%s forbids sniffing, framing and referrers', async (_, path, init) => {
    const { headers } = await ask(path, init);
    expect(Object.fromEntries(headers)).toMatchObject({
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
    });
    expect(headers.get('x-powered-by')).toBeNull();
    expect(headers.get('server')).toBeNull();
  });

  test.each(requests)('%s opens nothing to the pages of other origins', async (_, path, init) => {
    const fromElsewhere = { origin: 'https://evil.example', 'access-control-request-method': 'POST' };
    for (const method of [init.method ?? 'GET', 'OPTIONS']) {
      const { body, ...rest } = init;
      const { headers, status } = await ask(path, {
        ...rest,
        ...(method !== 'OPTIONS' && body ? { body } : {}),
        method,
        headers: { ...(init.headers as object), ...fromElsewhere },
      });
      expect([...headers.keys()].filter((name) => name.startsWith('access-control-'))).toEqual([]);
      if (method === 'OPTIONS') expect(status).toBeGreaterThanOrEqual(400);
    }
  });
});

test('the document has every operational endpoint with what it can answer', async () => {
  const { paths, components } = (await apiClient(base).get('/openapi.json')).body;
  const statuses = (path: string, method: string) => Object.keys(paths[path][method].responses).sort();
  expect(statuses('/api/version', 'get')).toEqual(['200', '429', '500']);
  expect(statuses('/api/health', 'get')).toEqual(['200', '400', '429', '500', '503']);
  expect(statuses('/api/ready', 'get')).toEqual(['200', '429', '500', '503']);
  expect(statuses('/api/performance/vitals', 'post')).toEqual(['204', '400', '413', '415', '429', '500']);
  expect(Object.keys(paths['/api/performance/vitals'].post.requestBody.content)).toEqual(['application/json']);
  for (const path of ['/api/admin/health', '/api/cron/webhook-gateway']) {
    for (const method of ['get', 'post']) {
      expect(paths[path][method].security).toEqual([{ cronSecret: [] }]);
      expect(statuses(path, method)).toEqual(expect.arrayContaining(['200', '401']));
    }
  }
  expect(components.securitySchemes.cronSecret).toMatchObject({ type: 'http', scheme: 'bearer' });
  expect(notYetBuilt.filter((endpoint) => /\/api\/(version|health|ready|performance|cron)/.test(endpoint))).toEqual([]);
});
