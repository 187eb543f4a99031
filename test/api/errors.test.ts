import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Client, Connection } from '@temporalio/client';
import { runWorkflowId } from '../../src/temporal/contracts/automation.ts';
import { type ApiClient, apiClient } from '../api-client.ts';
import { inB, makeWorkflow } from '../automation/make-workflow.ts';
import { sharedProduct } from '../product.ts';
import { runningServers } from '../servers.ts';
import { until } from '../until.ts';
import { rawRequest } from './raw-request.ts';

let product: Awaited<ReturnType<typeof sharedProduct>>;
let api: ApiClient;
let anonymous: ApiClient;
beforeAll(async () => {
  product = await sharedProduct();
  ({ api } = product);
  anonymous = apiClient(product.process.api);
});
afterAll(() => product.close());

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('an unknown path', () => {
  test.each([
    '/api/v1',
    '/api/v1/',
    '/v1',
    '/api/v1/nothing',
    '/api/v1/workflows/',
    '/api/v1/workflows/x/y/z',
    '/api/v1/workflows/x/executes',
    '/API/V1/workflows',
    '/api/v2/workflows',
    '/api/v1/run',
    '/api',
    '/favicon.png',
    '/index.php',
    '/api/studio/nothing',
    '/.env',
  ])('%s is not found, with a key and without one, whatever the method', async (path) => {
    for (const client of [api, anonymous]) {
      for (const method of ['GET', 'POST', 'DELETE']) {
        const answer = await client.request(method, path);
        expect(answer.status).toBe(404);
        expect(answer.body).toEqual({
          success: false,
          error: {
            code: 'not_found',
            message: expect.any(String),
            requestId: answer.headers.get('x-request-id'),
          },
        });
      }
    }
  });

  test('has B’s code where B is spoken', async () => {
    for (const [path, headers] of [
      ['/v1/nothing', inB],
      ['/api/v1/nothing/wf_x', {}],
    ] as const) {
      expect(await api.get(path, headers)).toMatchObject({
        status: 404,
        body: { success: false, error: { code: 'RESOURCE_NOT_FOUND' } },
      });
    }
  });

  test.each(['/api/chat/nothing', '/api/agents', '/api/voice/x'])('%s has its prefix’s envelope', async (path) => {
    const { status, body } = await api.get(path);
    expect(status).toBe(404);
    expect(body).toEqual({ success: false, error: expect.any(String) });
  });

  test('of any length and of any characters is no more than that', async () => {
    for (const path of [
      '/%',
      '/%zz',
      '/%00',
      '//api//v1//workflows',
      '/..%2f..%2fetc%2fpasswd',
      `/${'a'.repeat(8000)}`,
    ]) {
      const answer = await rawRequest(product.process.api, { method: 'GET', path });
      expect(answer).toMatchObject({ status: 404, body: { success: false, error: { code: 'not_found' } } });
    }
  });
});

describe('a method that a path does not have', () => {
  test.each([
    ['PUT', '/workflows', 'GET, HEAD, POST'],
    ['DELETE', '/workflows', 'GET, HEAD, POST'],
    ['OPTIONS', '/workflows', 'GET, HEAD, POST'],
    ['POST', '/workflows/x', 'GET, HEAD, PATCH, DELETE'],
    ['PUT', '/workflows/x', 'GET, HEAD, PATCH, DELETE'],
    ['GET', '/workflows/x/execute', 'POST'],
    ['POST', '/workflows/x/runs', 'GET, HEAD'],
    ['PUT', '/runs/x', 'GET, HEAD, PATCH, DELETE'],
    ['POST', '/health', 'GET, HEAD'],
    ['TRACE', '/workflows', 'GET, HEAD, POST'],
    ['PROPFIND', '/workflows', 'GET, HEAD, POST'],
  ])('%s %s is 405 and says which there are', async (method, path, allow) => {
    for (const prefix of ['/api/v1', '/v1']) {
      for (const key of [product.tenant.testKey, undefined]) {
        const answer = await rawRequest(product.process.api, {
          method,
          path: prefix + path,
          ...(key && { headers: { authorization: `Bearer ${key}` } }),
        });
        expect(answer).toMatchObject({ status: 405, body: { success: false, error: { code: 'method_not_allowed' } } });
        expect(answer.headers.get('allow')).toBe(allow);
      }
    }
  });

  test('has B’s code where B is spoken', async () => {
    expect(await api.request('PUT', '/v1/workflows', {}, inB)).toMatchObject({
      status: 405,
      body: { success: false, error: { code: 'METHOD_NOT_ALLOWED' } },
    });
  });

  test('does not include HEAD, which answers like GET without a body', async () => {
    const { id } = await makeWorkflow(api);
    const answer = await api.request('HEAD', `/v1/workflows/${id}`);
    expect(answer).toMatchObject({ status: 200, body: '' });
    expect(await api.request('HEAD', '/v1/workflows/x')).toMatchObject({ status: 404, body: '' });
  });
});

describe('the request id', () => {
  test('is a fresh uuid on every answer, and the one in the error', async () => {
    const { id } = await makeWorkflow(api);
    const failing = await makeWorkflow(api, 'sandbox:fail');
    const answers = [
      await api.get('/v1/workflows'),
      await api.post(`/v1/workflows/${id}/execute`, { input: 'x' }),
      await api.get('/openapi.json'),
      await anonymous.get('/v1/workflows'),
      await api.get('/nothing'),
      await api.request('PUT', '/v1/workflows'),
      await api.get('/v1/workflows?limit=0'),
      await api.get('/v1/workflows/x'),
      await api.post('/v1/workflows', '{'),
      await api.post(`/v1/workflows/${failing.id}/execute`, {}),
      await api.get('/v1/workflows', { 'x-request-id': 'mine' }),
    ];
    const ids = answers.map(({ headers }) => headers.get('x-request-id'));
    for (const id of ids) expect(id).toMatch(uuid);
    expect(new Set(ids).size).toBe(answers.length);
    for (const { body, headers } of answers) {
      if (body.success === false) expect(body.error.requestId).toBe(headers.get('x-request-id'));
    }
    expect(answers.filter(({ body }) => body.success === false)).toHaveLength(7);
  });
});

describe('the correlation id', () => {
  const echoed = async (given?: string | string[]) => {
    const answer = await rawRequest(product.process.api, {
      method: 'GET',
      path: '/v1/workflows',
      ...(given !== undefined && { headers: { 'x-correlation-id': given } }),
    });
    return answer.headers.get('x-correlation-id');
  };

  test.each(['a', 'order-42', 'A.b_c:d-9', '0'.repeat(128), 'b9a1b2c4-0000-4000-8000-000000000000'])(
    '%s is taken and given back',
    async (given) => {
      expect(await echoed(given)).toBe(given);
    },
  );

  test.each([['0'.repeat(129)], ['a b'], ['a/b'], ['ä'], ['<script>'], [''], [['one', 'two']], [undefined]])(
    '%j is replaced by one of ours',
    async (given) => {
      const id = await echoed(given);
      expect(id).toMatch(uuid);
      expect(await echoed(given)).not.toBe(id);
    },
  );

  test('is on failures too', async () => {
    const headers = { 'x-correlation-id': 'fails' };
    for (const answer of [await anonymous.get('/v1/workflows', headers), await api.get('/nothing', headers)]) {
      expect(answer.headers.get('x-correlation-id')).toBe('fails');
    }
  });

  test('follows the work into the run, into Temporal and into the log', async () => {
    const { id } = await makeWorkflow(api);
    const headers = { 'x-correlation-id': 'follow.me:1' };
    const { body } = await api.post(`/v1/workflows/${id}/execute`, { input: 'x' }, headers);
    const { runId } = body.data;
    const { rows } = await product.database.pool.query('select correlation_id from run where id = $1', [runId]);
    expect(rows).toEqual([{ correlation_id: 'follow.me:1' }]);
    const connection = await Connection.connect({ address: runningServers().temporalAddress });
    const { memo } = await new Client({ connection }).workflow.getHandle(runWorkflowId(runId)).describe();
    await connection.close();
    expect(memo).toMatchObject({ correlationId: 'follow.me:1' });
    await until('the log knows it', async () =>
      product.process.log.some((line) => line.runId === runId && line.correlationId === 'follow.me:1'),
    );
  });
});

describe('what is not HTTP', () => {
  test.each([
    ['a line of noise', 'GARBAGE\r\n\r\n', 400],
    ['a target without a slash', 'GET x HTTP/1.1\r\nHost: x\r\n\r\n', 400],
    ['a Host that is none', 'GET /v1/health HTTP/1.1\r\nHost: a/b\r\n\r\n', 400],
    [
      'two lengths of one body',
      'POST /v1/workflows HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['headers without end', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
  ])('%s is answered as JSON with ids, and the connection closed', async (_, bytes, status) => {
    const { hostname, port } = new URL(product.process.api);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write(bytes);
    const [head, body] = (await text(socket)).split('\r\n\r\n');
    expect(head).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    const { success, error } = JSON.parse(body!);
    expect(success).toBe(false);
    expect(error).toEqual({
      code: 'validation_error',
      message: expect.any(String),
      requestId: expect.stringMatching(uuid),
    });
    expect(head!.toLowerCase()).toContain(`x-request-id: ${error.requestId}`);
    expect(await api.get('/v1/health')).toMatchObject({ status: 200 });
  });
});

describe('a run that is asked for', () => {
  test('by a malformed id in B is an unknown resource', async () => {
    expect(await api.get('/v1/runs/run_nonsense')).toMatchObject({
      status: 404,
      body: { success: false, error: { code: 'RESOURCE_NOT_FOUND', details: { runId: 'run_nonsense' } } },
    });
  });

  test('by a uuid in B is named in B’s form', async () => {
    const answer = await api.get('/v1/runs/0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000', inB);
    expect(answer.body.error.details).toEqual({ runId: 'run_0199aaaabbbb7ccc8dddeeeeffff0000' });
  });
});

test('what is wrong is looked for in the published order', async () => {
  const inactive = await makeWorkflow(api, { isActive: false });
  const key = { authorization: `Bearer ${product.tenant.testKey}` };
  const wrongType = { 'content-type': 'text/plain' };
  const to = (id: string) => `/v1/workflows/${id}/execute`;
  const inOrder = [
    await anonymous.post(to('x'), '{', wrongType),
    await anonymous.post(to('x'), '{', { ...wrongType, ...key }),
    await api.post(to('x'), '{'),
    await api.post(to('x'), { variables: 5 }),
    await api.post(to('x'), { variables: {} }),
    await api.post(to(inactive.id), { variables: {} }),
  ];
  expect(inOrder.map(({ status, body }) => `${status} ${body.error.code}`)).toEqual([
    '401 unauthorized',
    '415 unsupported_media_type',
    '400 validation_error',
    '400 validation_error',
    '404 workflow_not_found',
    '400 workflow_inactive',
  ]);
});
