import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { AccessTokenRefused, AuthExpired } from '../../connections/failures.ts';
import type { EgressRequest } from '../../platform/egress/egress.ts';
import { EgressFailure } from '../../platform/egress/egress-failure.ts';
import { statusFailure } from './answers.ts';
import { IntegrationFailure } from './failures.ts';
import type { ProviderRequest } from './provider-call.ts';
import { apiKeyAccess, providerCall, type TokenAccess } from './provider-http.ts';

type Answer = { status?: number; headers?: Record<string, string>; body?: string; truncated?: boolean };

/** A call whose requests are answered one after another, or fail. */
function callTo(answers: (Answer | Error)[], details: Record<string, string> = {}, access?: TokenAccess) {
  const sent: (EgressRequest & { by: string })[] = [];
  const sender = (by: string) => ({
    async request(request: EgressRequest) {
      sent.push({ ...request, by });
      const answer = answers.shift();
      if (!answer || answer instanceof Error) throw answer;
      const { status = 200, headers = {}, body = '{}', truncated = false } = answer;
      return { status, headers, body: Buffer.from(body), truncated, durationMs: 1 };
    },
  });
  const call = providerCall({
    integration: { failureOf: (answer) => statusFailure(answer) },
    client: {
      baseUrl: ({ instance }) => instance ?? 'https://api.example.com/base',
      authorization: (token) => ({ authorization: `Bearer ${token}` }),
    },
    account: { id: 'T1', name: 'Team', details },
    egress: { named: sender('named'), guarded: sender('guarded') },
    access: access ?? ((work) => work('token-1')),
    timeoutMs: 5_000,
    idempotencyKey: 'key',
    signal: new AbortController().signal,
  });
  return { sent, call };
}

const get = (path: string): ProviderRequest => ({ method: 'GET', path });
const kindOf = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error) => (error instanceof IntegrationFailure ? error.kind : error.name),
  );

describe('a request', () => {
  test('carries the token, JSON or a form, and its query', async () => {
    const { call, sent } = callTo([{ body: '{"ok":1}' }, {}]);
    const answer = await call.request(
      { method: 'POST', path: '/a%20b', query: { q: 'x&y' }, json: { text: 'Grüße' } },
      z.object({ ok: z.number() }),
    );
    expect(answer).toEqual({ ok: 1 });
    await call.request({ method: 'POST', path: '/form', form: { a: '1 2' } }, z.unknown());
    expect(sent.map(({ url, body, headers }) => [url, body, headers])).toEqual([
      [
        'https://api.example.com/base/a%20b?q=x%26y',
        '{"text":"Grüße"}',
        {
          accept: 'application/json',
          'content-type': 'application/json; charset=utf-8',
          authorization: 'Bearer token-1',
        },
      ],
      [
        'https://api.example.com/base/form',
        'a=1+2',
        {
          accept: 'application/json',
          'content-type': 'application/x-www-form-urlencoded',
          authorization: 'Bearer token-1',
        },
      ],
    ]);
  });

  test('to a host that an answer named goes through the guard for addresses that callers choose', async () => {
    const { call, sent } = callTo([{}, {}], { instance: 'https://acme.my.example.com' });
    await call.request(get('/x'), z.unknown());
    const own = callTo([{}], {});
    await own.call.request(get('/x'), z.unknown());
    expect([sent[0]!.by, sent[0]!.url, own.sent[0]!.by]).toEqual(['guarded', 'https://acme.my.example.com/x', 'named']);
  });

  test.each(['/a/../b', '/a/%2e%2e/b', '//elsewhere.example.com/', 'x', '@evil.example.com/', '/a#b', '/a b', '/./a'])(
    'whose path is %s is not sent',
    async (path) => {
      const { call, sent } = callTo([{}]);
      expect([await kindOf(call.request(get(path), z.unknown())), sent.length]).toEqual(['invalid_payload', 0]);
    },
  );
});

describe('what became of it', () => {
  const aborted = new EgressFailure('timeout', undefined, { cause: { code: 'ABORT_ERR' } });
  test.each<[Answer | Error, string]>([
    [{ status: 401 }, 'AccessTokenRefused'],
    [{ status: 429, headers: { 'retry-after': '7' } }, 'rate_limited'],
    [{ status: 503, headers: { 'retry-after': '1' } }, 'not_done'],
    [{ status: 503 }, 'lost'],
    [{ status: 500 }, 'lost'],
    [{ status: 408 }, 'not_done'],
    [{ status: 302 }, 'action_failed'],
    [{ status: 404 }, 'action_failed'],
    [{ body: '<html>Please wait</html>' }, 'lost'],
    [{ body: '{"ok":1}', truncated: true }, 'lost'],
    [{ body: `${'['.repeat(100)}${']'.repeat(100)}` }, 'lost'],
    [{ body: '' }, 'lost'],
    [new EgressFailure('dns'), 'not_done'],
    [new EgressFailure('connect'), 'not_done'],
    [new EgressFailure('tls'), 'not_done'],
    [aborted, 'not_done'],
    [new EgressFailure('timeout'), 'lost'],
    [new EgressFailure('timeout', undefined, { cause: { code: 'ETIMEDOUT', syscall: 'read' } }), 'lost'],
    [new EgressFailure('reset'), 'lost'],
    [new EgressFailure('malformed_response'), 'lost'],
    [new EgressFailure('response_too_large'), 'lost'],
    [new EgressFailure('forbidden_destination'), 'action_failed'],
    [new RangeError('a mistake of ours'), 'RangeError'],
  ])('%j is %s', async (answer, expected) => {
    const { call } = callTo([answer]);
    expect(await kindOf(call.request(get('/x'), z.looseObject({ ok: z.number() })))).toBe(expected);
  });

  test('a refused API key is access that ended', async () => {
    const { call, sent } = callTo([{ status: 401 }], {}, apiKeyAccess('the-key'));
    await expect(call.request(get('/x'), z.unknown())).rejects.toThrow(AuthExpired);
    expect(sent[0]!.headers).toMatchObject({ authorization: 'Bearer the-key' });
  });

  test('a refused token may be exchanged for a new one, and the request is made again with it', async () => {
    const tokens = ['old', 'new'];
    const access: TokenAccess = async (work) => {
      try {
        return await work(tokens[0]!);
      } catch (error) {
        if (!(error instanceof AccessTokenRefused)) throw error;
        return work(tokens[1]!);
      }
    };
    const { call, sent } = callTo([{ status: 401 }, { body: '1' }], {}, access);
    expect(await call.request(get('/x'), z.number())).toBe(1);
    expect(sent.map(({ headers }) => headers!.authorization)).toEqual(['Bearer old', 'Bearer new']);
  });

  test('characters that no database takes are left out of an answer, and prototypes are left alone', async () => {
    const { call } = callTo([{ body: String.raw`{"a\u0000":["b\u0000\ud83d\ude00","\ud800"],"__proto__":{"x":1}}` }]);
    const answer = (await call.request(get('/x'), z.unknown())) as Record<string, unknown>;
    expect(Object.entries(answer)).toEqual([
      ['a', ['b😀', '\ufffd']],
      ['__proto__', { x: 1 }],
    ]);
    expect(({} as { x?: number }).x).toBeUndefined();
  });
});
