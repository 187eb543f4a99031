import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { rawRequest } from '../../api/raw-request.ts';
import { makeWorkflow } from '../../automation/make-workflow.ts';
import { startProduct } from '../../product.ts';
import { unexpectedFailures } from '../../unexpected-failures.ts';

let product: Awaited<ReturnType<typeof startProduct>>;
let workflowId: string;
beforeAll(async () => {
  product = await startProduct();
  workflowId = (await makeWorkflow(product.api, { steps: [] })).id;
});
afterAll(() => product.close());

const routes: [method: string, path: string][] = [
  ['GET', '/workflows{query}'],
  ['POST', '/workflows'],
  ['GET', '/workflows/{id}'],
  ['PATCH', '/workflows/{id}'],
  ['DELETE', '/workflows/{id}'],
  ['POST', '/workflows/{id}/execute'],
  ['GET', '/workflows/{id}/runs{query}'],
  ['GET', '/runs/{id}'],
  ['GET', '/health{query}'],
];

const ids = [
  "'",
  "x'%20or%20'1'='1",
  '%27%3B%20drop%20table%20run%3B--',
  '%00',
  '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000%00',
  '%F0%9F%A6%8A',
  '%C3%28',
  '%',
  '%2',
  '..',
  '..%2f..%2fetc%2fpasswd',
  '%2e%2e',
  '%2f',
  '__proto__',
  'constructor',
  'toString',
  'null',
  'undefined',
  'NaN',
  '-1',
  '1e400',
  '{}',
  '{id}',
  ':id',
  '*',
  '$1',
  '%25s%25n',
  '0199aaaabbbb7ccc8dddeeeeffff0000',
  '{0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000}',
  '0199aaaa-bbbb-7ccc-8ddd-eeeeffff000g',
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  'wf_ffffffffffffffffffffffffffffffff',
  'run_00000000000000000000000000000000',
  'wf_run_wf_',
  'x'.repeat(4_000),
];

const queries = [
  '?',
  '?limit',
  '?limit=%00',
  '?limit=%F0%9F%A6%8A',
  '?limit=1%27%20or%201=1',
  '?limit[]=1',
  '?limit[__proto__]=1',
  '?__proto__=1&constructor=2',
  '?offset=2147483648',
  '?offset=-0',
  '?offset=1_000',
  '?limit=0x10',
  '?limit=%C3%28',
  '?status=%27',
  '?status=__proto__',
  '?status=constructor',
  '?active=null',
  '?active[]=true',
  `?x=${'y'.repeat(4_000)}`,
  `?${'a&'.repeat(2_000)}`,
];

const deep = (depth: number) => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`;
const bodies = [
  '',
  '{}',
  '[]',
  'null',
  '0',
  '""',
  '{',
  '[',
  '"',
  '\0',
  '\u0000{}',
  '{"name":null}',
  '{"name":{}}',
  '{"name":["x"]}',
  '{"name":"x","steps":null}',
  '{"name":"x","steps":"all"}',
  '{"name":"x","steps":{"length":1,"0":{}}}',
  '{"name":"x","steps":[[]]}',
  '{"name":"x","steps":[{"id":"__proto__","type":"__proto__"}]}',
  '{"name":"x","steps":[{"id":"a","type":"prompt","maxTokens":1e308}]}',
  '{"name":"x","steps":[{"id":"a","type":"prompt","temperature":-0}]}',
  '{"name":"x","inputs":[{"name":"","type":"string","required":true}]}',
  '{"name":"x","inputs":[{"name":"a","type":"string","required":false,"default":null}]}',
  '{"name":"x","inputs":{"a":1}}',
  '{"name":"x","config":"__proto__"}',
  `{"name":"x","config":${deep(60)}}`,
  `{"name":"x","config":${deep(70)}}`,
  `{"name":"x","config":{"n":${'9'.repeat(400)}}}`,
  `{"name":"x","config":{"n":${'9'.repeat(300)}}}`,
  `{"name":"x","config":{"n":0.${'9'.repeat(20_000)}}}`,
  '{"name":"x","config":{"n":-1e-324}}',
  '{"name":"x","aiModel":"\\u2028"}',
  '{"name":"\\ufeff\\u200b"}',
  '{"name":"x","isActive":0}',
  '{"name":"x","status":""}',
  '{"name":"x","status":{"toLowerCase":1}}',
  '{"__proto__":{"name":"x"}}',
  '{"constructor":{"prototype":{"name":"x"}}}',
  '{"name":"x","organizationId":"\'","id":"%s"}',
  '{"input":{"__proto__":{"toJSON":1}},"variables":{"__proto__":"x"}}',
  '{"input":1e308}',
  '{"inputs":{"toString":1,"valueOf":null,"hasOwnProperty":1},"async":false}',
  '{"variables":{"":""}}',
  '{"async":null}',
  '{"async":1,"inputs":{}}',
  `{"input":"${'\\u2028\\"'.repeat(10_000)}"}`,
];

const headers: Record<string, string | string[]>[] = [
  {},
  { 'x-api-variant': 'B' },
  { 'x-api-variant': ['A', 'B'] },
  { 'idempotency-key': '\xff' },
  { 'content-type': 'application/json;' },
  { accept: 'text/html' },
  { 'x-forwarded-for': "' or 1=1, %00, 999.999.999.999" },
];

/** What an answer must never contain, whatever it was asked. */
const secrets =
  /node_modules|\.ts:|at Object|select |insert into|pg_|postgres|ECONN|temporal|sk_test_|\/work|syntax error/i;

async function attack(method: string, path: string, body?: string, more: Record<string, string | string[]> = {}) {
  const answer = await rawRequest(product.process.api, {
    method,
    path: `/v1${path}`,
    headers: {
      authorization: `Bearer ${product.tenant.testKey}`,
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...more,
    },
    ...(body !== undefined && { body }),
  });
  const what = `${method} ${path} ${body?.slice(0, 200)} ${JSON.stringify(more)} -> ${JSON.stringify(answer.body)}`;
  if (answer.status >= 500) throw new Error(`${answer.status}: ${what}`);
  if (answer.status < 400) return;
  if (typeof answer.body !== 'object' || secrets.test(JSON.stringify(answer.body.error?.message)))
    throw new Error(what);
}

const hasBody = (method: string) => method === 'POST' || method === 'PATCH';

describe.each(routes)('%s %s', (method, path) => {
  const place = (id: string, query = '') => path.replace('{id}', id).replace('{query}', query);

  if (path.includes('{id}')) {
    test('is not upset by any id', async () => {
      for (const id of ids) await attack(method, place(id), hasBody(method) ? '{}' : undefined);
    });
  }

  if (path.includes('{query}')) {
    test('is not upset by any query', async () => {
      for (const query of queries) await attack(method, place(workflowId, query));
    });
  }

  if (hasBody(method)) {
    test('is not upset by any body', async () => {
      for (const body of bodies) await attack(method, place(workflowId), body);
    });
  }

  test('is not upset by any header', async () => {
    const unknown = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000';
    for (const more of headers) await attack(method, place(unknown), hasBody(method) ? '{}' : undefined, more);
  });
});

test('nothing of all that was an unexpected failure, and everybody is still served', async () => {
  expect(unexpectedFailures(product.process.log)).toEqual([]);
  expect(({} as Record<string, unknown>).name).toBeUndefined();
  expect(await product.api.get(`/v1/workflows/${workflowId}`)).toMatchObject({ status: 200 });
  expect(await product.api.post(`/v1/workflows/${workflowId}/execute`, { input: 'x' })).toMatchObject({
    status: 200,
    body: { data: { status: 'COMPLETED' } },
  });
});
