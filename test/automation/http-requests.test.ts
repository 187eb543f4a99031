import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { HttpFields } from '../../src/automation/core/http-request.ts';
import type { TemplateValues } from '../../src/automation/core/template.ts';
import { openHttpSenders } from '../../src/automation/flows/http/open-senders.ts';
import { type HttpAttempt, type HttpServices, performHttp } from '../../src/automation/flows/http/perform-http.ts';
import { putSecret } from '../../src/automation/secrets/secrets.ts';
import type { StepEnd } from '../../src/automation/steps/step-context.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { AddressRanges } from '../../src/platform/egress/address-ranges.ts';
import { Egress } from '../../src/platform/egress/egress.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import { ProviderFailure } from '../../src/platform/provider-failure.ts';
import { Sealer } from '../../src/platform/security/crypto.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { httpServer, type LoopbackServer } from '../loopback-server.ts';
import { secrets } from '../operator.ts';
import { openBoundedWork } from '../platform/open-bounded-work.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';

let testDatabase: TestDatabase;
let database: Database;
let egress: Egress;
let services: HttpServices;
let live: Scope;
let sandbox: Scope;

interface Received {
  method: string;
  url: string;
  headers: IncomingMessage['headers'];
  body: string;
}

let server: LoopbackServer;
let base: string;
let received: Received[];
/** How the server answers, by test. */
let answer: (response: ServerResponse, one: Received) => void;

const lookedUp = ['127.0.0.1'];

const newOrganization = async () =>
  organizationIds.parse((await createOrganization(database, { name: 'Sender', plan: 'team' })).id)!;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openTestDatabase(testDatabase.url);
  const rules = { httpsOnly: false, allowed: new AddressRanges(['127.0.0.0/8']), denied: new AddressRanges([]) };
  egress = new Egress(rules, { resolve: async () => lookedUp });
  const sealer = new Sealer(secrets.SEALING_KEYS);
  services = {
    httpSenders: openHttpSenders({ database, egress, hostRate: 50 }),
    sealer,
    boundedWork: openBoundedWork(),
    log: openLog('silent', 'test'),
  };
  const organizationId = await newOrganization();
  live = new Scope(database, { organizationId, environment: 'live' }, 'http');
  sandbox = new Scope(database, { organizationId, environment: 'test' }, 'http');
  for (const scope of [live, sandbox]) await putSecret({ sealer }, scope, 'TOKEN', 'Bearer "hidden" value');
  await putSecret({ sealer }, live, 'BROKEN', 'two\nlines');
});
afterAll(async () => {
  services.boundedWork.close();
  await egress.close();
  await database.close();
  await testDatabase.drop();
});

beforeEach(async () => {
  received = [];
  answer = (response) => response.setHeader('content-type', 'application/json').end('{"ok":true}');
  server = await httpServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { method = '', url = '', headers } = request;
    const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
    received.push(one);
    answer(response, one);
  });
  base = `http://127.0.0.1:${server.port}`;
});
afterEach(() => server.close());

const nothing: TemplateValues = { input: null, variables: {}, steps: {} };

/** A run whose only step has begun. */
async function beginStep(scope: Scope): Promise<{ runId: string; position: number }> {
  const [runId, automationId, definitionId] = [randomUUID(), randomUUID(), randomUUID()];
  const { organizationId, environment } = scope.tenant;
  const insert = (sql: string, ...values: string[]) =>
    database.pool.query(sql, [organizationId, environment, automationId, ...values]);
  await insert(
    `insert into automation (organization_id, environment, id, definition_id, name, state, total_runs, created_at, updated_at)
     values ($1, $2, $3, $4, 'Sends', 'active', 1, now(), now())`,
    definitionId,
  );
  await insert(
    `insert into definition (organization_id, environment, automation_id, id, ai_provider, ai_model, steps, config, inputs, created_at)
     values ($1, $2, $3, $4, 'OPENAI', 'x', '[]', '{}', '[]', now())`,
    definitionId,
  );
  await insert(
    `with begun as (
       insert into run (organization_id, environment, automation_id, definition_id, id, number, status, variables,
                        finished_steps, total_steps, correlation_id, created_at)
       values ($1, $2, $3, $4, $5, 1, 'running', '{}', 0, 1, 'c', now()))
     insert into run_step (organization_id, environment, run_id, position, step_id, path, status, attempts, warnings, started_at)
     values ($1, $2, $5, 0, 'call', 'call', 'running', 1, '[]', now())`,
    definitionId,
    runId,
  );
  return { runId, position: 0 };
}

interface Given extends Partial<HttpAttempt> {
  scope?: Scope;
  values?: Partial<TemplateValues>;
}

async function perform(step: HttpFields, { scope = live, values, ...given }: Given = {}): Promise<StepEnd> {
  const row = given.runId ? { runId: given.runId, position: 0 } : await beginStep(scope);
  const { signal } = new AbortController();
  const attempt = { ...row, key: `${row.runId}.call`, number: 1, signal, ...given };
  return performHttp(services, scope, step, { ...nothing, ...values }, attempt);
}

const outputOf = (end: StepEnd): unknown => (end.status === 'completed' ? end.output.value : end);
/** An attempt after which another one is due. */
const refusal = (given: Promise<StepEnd>): Promise<ProviderFailure> =>
  given.then(
    (end) => expect(end).toBe('a failure that may pass') as never,
    (error) => {
      expect(error).toBeInstanceOf(ProviderFailure);
      return error;
    },
  );

test('a request is sent as the step says, its values with their types', async () => {
  const runId = (await beginStep(live)).runId;
  const values = { variables: { list: [1, 'b'], who: 'Ada Lovelace', n: 5, no: null }, steps: { a: { deep: true } } };
  const end = await perform(
    {
      method: 'POST',
      url: `${base}/people/{{n}}?kept=a%20b`,
      query: { who: '{{who}}', list: '{{list}}', no: '{{no}}', flag: true },
      headers: { 'X-Who': '{{who}}', 'X-List': '{{list}}', 'X-Number': 7 },
      secretHeaders: { Authorization: 'TOKEN' },
      body: { whole: '{{steps.a.output}}', text: 'n = {{n}}', list: ['{{list}}', '{{nobody}}'] },
    },
    { runId, values },
  );
  expect(outputOf(end)).toMatchObject({
    status: 200,
    body: { ok: true },
    headers: { 'content-type': 'application/json' },
  });
  expect(end.warnings).toEqual([{ code: 'unknown_variable', name: 'nobody' }]);
  expect(received).toMatchObject([
    {
      method: 'POST',
      url: '/people/5?kept=a%20b&who=Ada+Lovelace&list=1&list=b&flag=true',
      headers: {
        'x-who': 'Ada Lovelace',
        'x-list': '[1,"b"]',
        'x-number': '7',
        authorization: 'Bearer "hidden" value',
        'content-type': 'application/json',
        'idempotency-key': `${runId}.call`,
        'user-agent': 'Atelier',
      },
    },
  ]);
  expect(JSON.parse(received[0]!.body)).toEqual({ whole: { deep: true }, text: 'n = 5', list: [[1, 'b'], null] });
});

test('headers that a step gives replace those that are always sent, and a text is sent as it is', async () => {
  const headers = { 'idempotency-key': 'mine', 'USER-AGENT': 'me', 'content-type': 'text/csv' };
  await perform({ method: 'PUT', url: base, headers, body: 'a,b\n{{input}}' }, { values: { input: 'c' } });
  expect(received).toMatchObject([
    { headers: { 'idempotency-key': 'mine', 'user-agent': 'me', 'content-type': 'text/csv' }, body: 'a,b\nc' },
  ]);
});

test('answers are JSON, texts or base64, by what they are', async () => {
  const bodies: [string, string | Buffer, object][] = [
    ['application/problem+json; charset=utf-8', '{"a":[1]}', { body: { a: [1] } }],
    ['application/json', 'not json', { body: 'not json' }],
    ['text/plain; charset=iso-8859-1', Buffer.from([0xe9]), { body: 'é' }],
    ['text/html', '<p>é</p>', { body: '<p>é</p>' }],
    ['image/png', Buffer.from([0x89, 0x50, 0, 0xff]), { body: 'iVAA/w==', encoding: 'base64' }],
    ['application/json', gzipSync('{}'), { encoding: 'base64' }],
    ['application/json', '', { body: null }],
  ];
  for (const [type, body, expected] of bodies) {
    answer = (response) => response.setHeader('content-type', type).end(body);
    expect(outputOf(await perform({ url: base }))).toMatchObject(expected);
  }
  answer = (response) => response.end('x'.repeat(5 * 1024 * 1024));
  expect(await perform({ url: base })).toMatchObject({ status: 'failed', code: 'output_too_large' });
});

test('secrets are taken out of whatever repeats them', async () => {
  answer = (response, { headers }) => {
    response.setHeader('X-Echo', headers.authorization!).setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ [headers.authorization!]: [headers.authorization], inside: `<${headers.authorization}>` }),
    );
  };
  const step: HttpFields = { url: base, secretHeaders: { Authorization: 'TOKEN' } };
  const end = await perform(step);
  expect(outputOf(end)).toMatchObject({
    headers: { 'x-echo': '[secret]' },
    body: { '[secret]': ['[secret]'], inside: '<[secret]>' },
  });
  const texts = [
    (secret: string) => `as JSON: ${JSON.stringify(secret)}`,
    (secret: string) => `in a URL: ${encodeURIComponent(secret)}`,
    (secret: string) => Buffer.concat([Buffer.from([0, 0xff]), Buffer.from(secret)]),
  ];
  for (const textOf of texts) {
    answer = (response, { headers }) => response.writeHead(404).end(textOf(headers.authorization!));
    const failed = await perform(step);
    expect(failed).toMatchObject({ status: 'failed', code: 'http_error', details: { status: 404 } });
    const bodies =
      JSON.stringify(failed) +
      Buffer.from(String((failed as never as { details: { body: string } }).details.body), 'base64');
    expect(bodies).not.toContain('hidden');
  }
  expect(await perform({ url: base, secretHeaders: { 'X-Key': 'NOBODYS' } })).toMatchObject({
    code: 'secret_not_found',
  });
  const broken = await perform({ url: base, secretHeaders: { 'X-Key': 'BROKEN' } });
  expect(broken).toMatchObject({ code: 'invalid_payload' });
  expect(JSON.stringify(broken)).not.toContain('lines');
});

test('what the values of a run make of a request is checked before anything is sent', async () => {
  const cases: [HttpFields, Partial<TemplateValues>][] = [
    [{ url: '{{input}}' }, { input: 'no url' }],
    [{ url: '{{input}}' }, { input: 'http://10.0.0.1/' }],
    [{ url: '{{input}}' }, { input: 'ftp://example.com' }],
    [{ url: `${base}/{{input}}` }, { input: 'a\nb' }],
    [{ url: base, headers: { 'X-A': '{{input}}' } }, { input: 'a\r\nX-B: c' }],
    [{ url: base, headers: { 'X-A': '{{input}}' } }, { input: '☃' }],
  ];
  for (const [step, values] of cases) {
    expect(await perform(step, { values })).toMatchObject({ status: 'failed', code: 'invalid_payload' });
  }
  expect(received).toEqual([]);
});

test('redirects are followed within the origin, at most three', async () => {
  const other = await httpServer((_, response) => response.end('elsewhere'));
  answer = (response, { url }) => {
    const [, kind, count = '0'] = url.split('/');
    if (kind === 'other') return response.writeHead(302, { location: `http://127.0.0.1:${other.port}/` }).end();
    if (kind === 'see') return response.writeHead(303, { location: '/end' }).end();
    if (kind === 'keep') return response.writeHead(307, { location: '/end' }).end();
    if (kind === 'loop') return response.writeHead(302, { location: `/loop/${Number(count) + 1}` }).end();
    return response.end(kind);
  };
  const secretHeaders = { Authorization: 'TOKEN' };
  expect(outputOf(await perform({ method: 'POST', url: `${base}/see`, body: 'x' }))).toMatchObject({ body: 'end' });
  expect(received.map(({ method, body }) => `${method} ${body}`)).toEqual(['POST x', 'GET ']);
  await perform({ method: 'POST', url: `${base}/keep`, body: 'x', secretHeaders });
  expect(
    received.slice(2).map(({ method, body, headers }) => [method, body, headers.authorization !== undefined]),
  ).toEqual([
    ['POST', 'x', true],
    ['POST', 'x', true],
  ]);
  expect(await perform({ url: `${base}/other`, secretHeaders })).toMatchObject({
    code: 'http_error',
    details: { status: 302 },
  });
  expect(other.connections).toBe(0);
  received.length = 0;
  expect(await perform({ url: `${base}/loop/0` })).toMatchObject({ code: 'http_error', details: { status: 302 } });
  expect(received).toHaveLength(4);
  await other.close();
});

test('only what may be repeated is tried again, as the server asks', async () => {
  let status = 503;
  answer = (response) => response.writeHead(status, { 'retry-after': '7' }).end('busy');
  expect(await refusal(perform({ url: base }))).toMatchObject({ kind: 'unavailable', retryAfterMs: 7_000 });
  expect(await refusal(perform({ url: base }, { number: 2 }))).toMatchObject({ status: 503 });
  const spent = { status: 'failed', code: 'http_error', details: { status: 503, body: 'busy' } };
  expect(await perform({ url: base }, { number: 3 })).toMatchObject(spent);
  expect(await perform({ url: base, retry: { maxAttempts: 1 } })).toMatchObject(spent);
  expect(await perform({ method: 'POST', url: base })).toMatchObject(spent);
  await refusal(perform({ method: 'PATCH', url: base, retry: { maxAttempts: 2 } }));
  status = 429;
  answer = (response) => response.writeHead(status, { 'retry-after': '86400' }).end();
  expect(await refusal(perform({ method: 'DELETE', url: base }))).toMatchObject({
    kind: 'rate_limited',
    retryAfterMs: 60_000,
  });
  status = 404;
  expect(await perform({ url: base })).toMatchObject({ code: 'http_error', details: { status: 404, body: '' } });
  expect(outputOf(await perform({ url: base, successStatus: [404] }))).toMatchObject({ status: 404 });
  expect(outputOf(await perform({ url: base, successStatus: ['4xx', '200'] }))).toMatchObject({ status: 404 });
});

test('the beginning of a refusal is in its details', async () => {
  answer = (response) => response.writeHead(400).end('é'.repeat(5_000));
  const end = (await perform({ url: base })) as StepEnd & { details: { body: string } };
  expect(end).toMatchObject({ code: 'http_error', details: { status: 400 } });
  expect(end.details.body).toBe('é'.repeat(1_024));
});

test('a lost answer of a request that must not be repeated is not guessed, and others say why', async () => {
  answer = (response) => response.destroy();
  expect(await perform({ method: 'POST', url: base })).toMatchObject({ code: 'outcome_unknown' });
  expect(await refusal(perform({ method: 'PUT', url: base }))).toMatchObject({ kind: 'connection' });
  expect(await perform({ url: base }, { number: 3 })).toMatchObject({ code: 'service_unavailable' });
  answer = () => {};
  let timeoutSeconds = 0.2;
  const patch = async () => {
    received.length = 0;
    return perform({ method: 'PATCH', url: base, timeoutSeconds });
  };
  let lost = await patch();
  // On a busy machine the time may be over before the request is sent.
  while (received.length === 0 && timeoutSeconds < 10) {
    expect(lost).toMatchObject({ code: 'timeout' });
    timeoutSeconds *= 4;
    lost = await patch();
  }
  expect(lost).toMatchObject({ code: 'outcome_unknown' });
  expect(await perform({ url: base, timeoutSeconds: 0.2 }, { number: 3 })).toMatchObject({ code: 'timeout' });
  const unreachable = base.replace(/\d+$/, '9');
  expect(await perform({ method: 'POST', url: unreachable })).toMatchObject({ code: 'service_unavailable' });
});

test('after a crash nothing is sent again that must not be, and all else is', async () => {
  const { runId } = await beginStep(live);
  expect(await perform({ method: 'POST', url: base }, { runId })).toMatchObject({ status: 'completed' });
  expect(await perform({ method: 'POST', url: base }, { runId, number: 2 })).toMatchObject({ code: 'outcome_unknown' });
  expect(received).toHaveLength(1);
  await perform({ method: 'PUT', url: base }, { runId, number: 2 });
  await perform({ method: 'POST', url: base, retry: { maxAttempts: 3 } }, { runId, number: 2 });
  expect(received).toHaveLength(3);
});

test('a cancelled request ends with the reason', async () => {
  answer = () => {};
  const controller = new AbortController();
  const performed = perform({ url: base }, { signal: controller.signal });
  setTimeout(() => controller.abort(new Error('cancelled')), 50);
  await expect(performed).rejects.toThrow('cancelled');
});

test('requests wait for the rate of their host and organizations alternate', async () => {
  const url = `http://api.example.test:${server.port}/`;
  const other = new Scope(database, { organizationId: await newOrganization(), environment: 'live' }, 'http');
  const order: string[] = [];
  // All steps have begun before the first request: on a busy machine those of the second organization would come late.
  const beginSteps = async (count: number, scope: Scope) => {
    const begun = [];
    while (begun.length < count) begun.push(await beginStep(scope));
    return begun;
  };
  const [steps, others] = [await beginSteps(130, live), await beginSteps(5, other)];
  const begun = performance.now();
  const many = steps.map(({ runId }) => perform({ url }, { runId }).then(() => order.push('many')));
  const few = others.map(({ runId }) => perform({ url }, { scope: other, runId }).then(() => order.push('few')));
  await Promise.all([...many, ...few]);
  // A burst of 100, and 50 a second from then on.
  expect(performance.now() - begun).toBeGreaterThan(500);
  expect(order.lastIndexOf('few')).toBeLessThan(125);
  expect(received).toHaveLength(135);
});

test('the sandbox answers with the request, without secrets, and knows the magic words', async () => {
  const { runId } = await beginStep(sandbox);
  const step: HttpFields = {
    method: 'POST',
    url: 'https://crm.example.com/people?a=1',
    headers: { 'X-Who': '{{input}}' },
    secretHeaders: { Authorization: 'TOKEN' },
    body: { who: '{{input}}' },
  };
  const given = { scope: sandbox, values: { input: 'Ada' }, runId };
  const echo = {
    status: 200,
    headers: { 'content-type': 'application/json' },
    body: {
      method: 'POST',
      url: 'https://crm.example.com/people?a=1',
      headers: {
        authorization: '[secret]',
        'content-type': 'application/json',
        'idempotency-key': `${runId}.call`,
        'user-agent': 'Atelier',
        'x-who': 'Ada',
      },
      body: { who: 'Ada' },
    },
  };
  expect(outputOf(await perform(step, given))).toEqual(echo);
  const of = (words: string, more: Given = {}) =>
    perform({ url: `https://x.test/?q=${words}` }, { scope: sandbox, ...more });
  expect(await of('sandbox:fail')).toMatchObject({ code: 'http_error', details: { status: 500 } });
  expect(await refusal(of('sandbox:overloaded'))).toMatchObject({ status: 503 });
  expect(await refusal(of('sandbox:overloaded', { number: 2 }))).toMatchObject({ status: 503 });
  expect(await of('sandbox:overloaded', { number: 3 })).toMatchObject({ status: 'completed' });
  expect(await of('sandbox:timeout', { number: 3 })).toMatchObject({ code: 'timeout' });
  expect(
    await perform({ method: 'POST', url: 'https://x.test', body: 'sandbox:overloaded' }, { scope: sandbox }),
  ).toMatchObject({ code: 'http_error', details: { status: 503 } });
  expect(received).toEqual([]);
});
