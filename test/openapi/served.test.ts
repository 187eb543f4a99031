import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { eventTypes } from '../../src/services.ts';
import { composeApp } from '../api/app-without-process.ts';
import { apiClient } from '../api-client.ts';
import { shellEnvironment } from '../local-stack/stack-folder.ts';
import { type StartedProduct, sharedProduct } from '../product.ts';
import { Conformance } from './conformance.ts';
import { printDocument } from './printed-document.ts';
import { notYetBuilt, publishedEndpoints } from './published-endpoints.ts';

let product: StartedProduct;
let paths: Record<string, Record<string, object>>;
let document: {
  openapi: string;
  info: { description: string };
  servers: { url: string }[];
  webhooks: object;
  components: object;
};
let documented: string[];

beforeAll(async () => {
  product = await sharedProduct();
  const answer = await apiClient(product.process.api).get('/openapi.json');
  expect(answer.status).toBe(200);
  document = answer.body;
  ({ paths } = answer.body);
  documented = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
});
afterAll(() => product.close());

const built = publishedEndpoints.filter((endpoint) => !notYetBuilt.includes(endpoint));

// That it is valid OpenAPI is checked in document.test.ts.
describe('the document', () => {
  test('needs no key, names the public address, and is JSON', async () => {
    const { app, services } = await composeApp({ PUBLIC_URL: 'https://api.example.com' });
    const answer = await app.request('/openapi.json');
    await services.close();
    const { servers } = (await answer.json()) as typeof document;
    expect(servers).toEqual([
      { url: 'https://api.example.com', description: expect.stringMatching('`/api/v1` .* `/v1`') },
    ]);
    expect(document.info).toMatchObject({ title: 'Atelier', version: expect.stringMatching(/^\d+\.\d+\.\d+$/) });
  });

  test('refers to nothing that it does not have', () => {
    const text = JSON.stringify(document);
    const names = [...text.matchAll(/"#\/components\/(\w+)\/(\w+)"/g)].map(([, kind, name]) => [kind, name]);
    expect(names.length).toBeGreaterThan(0);
    for (const [kind, name] of names) expect(document.components).toHaveProperty([kind!, name!]);
  });

  test('lists what is served below two prefixes once', () => {
    expect(documented.filter((endpoint) => endpoint.includes(' /v1/'))).toEqual([]);
    expect(documented.filter((endpoint) => endpoint.includes(' /api/v1/')).length).toBeGreaterThan(20);
  });

  test('is printed without any server, and is the same but for the address', async () => {
    const text = await printDocument();
    const [{ url }] = JSON.parse(text).servers;
    expect(JSON.parse(text.replaceAll(url, document.servers[0]!.url))).toEqual(document);
  });

  test('opens with commands that can be copied, and lead to a finished run', async () => {
    const [, block] = /^## Quick start$.*?^```sh\n(.*?)^```$/ms.exec(document.info.description)!;
    const [, ...commands] = block!.replaceAll(document.servers[0]!.url, product.process.api).trim().split('\n\n');
    expect(commands).toHaveLength(2);
    let id = '';
    for (const command of commands) {
      const env = { ...shellEnvironment(), KEY: product.tenant.testKey };
      const { stdout } = await promisify(execFile)('sh', ['-ec', command.replace('WORKFLOW_ID', id)], { env });
      const { data } = JSON.parse(stdout);
      id = data.id;
      if (data.runId)
        expect(data).toMatchObject({ status: 'COMPLETED', output: expect.stringContaining('Greet Ada.') });
    }
    expect(id).toBeUndefined();
  });

  test('is not sent again to a client that has it', async () => {
    const url = new URL('/openapi.json', product.process.api);
    const first = await fetch(url);
    expect(first.headers.get('content-encoding')).toBe('gzip');
    const again = await fetch(url, { headers: { 'if-none-match': first.headers.get('etag')! } });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });
});

describe('the published endpoints', () => {
  test('are each named once', () => {
    expect(new Set(publishedEndpoints).size).toBe(publishedEndpoints.length);
    for (const endpoint of notYetBuilt) expect(publishedEndpoints).toContain(endpoint);
  });

  test('are all documented once they are built, and not before', () => {
    for (const endpoint of built) expect(documented).toContain(endpoint);
    for (const endpoint of notYetBuilt) expect(documented).not.toContain(endpoint);
  });
});

test('every event is documented, with an example that is one', () => {
  const { webhooks } = document;
  expect(Object.keys(webhooks).sort()).toEqual(eventTypes.toSorted());
  const conformance = new Conformance(document);
  for (const type of eventTypes) {
    const place = ['webhooks', type, 'post', 'requestBody', 'content', 'application/json'];
    const [, example] = conformance.resolve(...place, 'example');
    expect(example.type).toBe(type);
    expect(conformance.problemOf(example, ...place, 'schema')).toBeUndefined();
  }
});

describe('the check of answers against the document', () => {
  const answer = (status: number, body: unknown) => ({
    method: 'GET',
    path: '/v1/health',
    status,
    headers: new Headers(headers),
    body,
  });
  const headers = {
    'content-type': 'application/json',
    'x-request-id': '5f0c9d1e-5d3b-4c55-9a43-0f3a2b1c4d5e',
    'x-correlation-id': 'x',
    'x-ratelimit-limit': '60',
    'x-ratelimit-remaining': '59',
    'x-ratelimit-reset': '1780272000',
    'cache-control': 'no-store',
  };
  const health = { status: 'healthy', organization: 'O', plan: 'pro' };

  test('passes what is documented, and paths that are not', () => {
    const conformance = new Conformance(document);
    conformance.check(answer(200, health));
    conformance.check({ ...answer(200, ''), method: 'HEAD' });
    conformance.check({ ...answer(418, {}), path: '/v1/elsewhere' });
    conformance.check({ ...answer(405, {}), method: 'PUT', headers: new Headers({ allow: 'GET, HEAD' }) });
  });

  test.each([
    ['a member too many', 200, { ...health, secret: 1 }],
    ['a member too few', 200, { status: 'healthy', organization: 'O' }],
    ['a value of another type', 200, { ...health, organization: 5 }],
    ['a status that is not documented', 418, health],
    ['an error without request id', 401, { success: false, error: { code: 'x', message: 'y' } }],
  ])('finds %s', (_, status, body) => {
    expect(() => new Conformance(document).check(answer(status, body))).toThrow(/answered/);
  });

  test.each([
    ['a header that is missing', { 'x-ratelimit-limit': null }, 'without the header X-RateLimit-Limit'],
    ['a header of another form', { 'x-ratelimit-limit': 'many' }, 'must be integer'],
    ['a header that is not documented', { 'x-powered-by': 'x' }, 'with the header x-powered-by'],
  ])('finds %s', (_, change, message) => {
    const seen = answer(200, health);
    for (const [name, value] of Object.entries(change)) {
      if (value === null) seen.headers.delete(name);
      else seen.headers.set(name, value);
    }
    expect(() => new Conformance(document).check(seen)).toThrow(message);
  });

  test.each([
    ['an operation that is not documented', 200, 'GET, HEAD'],
    ['methods that are not documented', 405, 'GET, HEAD, POST'],
    ['no word of the methods that there are', 405, ''],
  ])('finds %s', (_, status, allow) => {
    const seen = { ...answer(status, health), method: 'PUT', headers: new Headers({ ...headers, allow }) };
    expect(() => new Conformance(document).check(seen)).toThrow(/answered/);
  });
});
