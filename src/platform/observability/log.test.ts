import { describe, expect, test } from '@jest/globals';
import { processorMs } from '../../../test/processor-time.ts';
import { openLog } from './log.ts';

const known = 'a "known" secret of the environment';

/** Logs one line and reads it back. */
function logged(what: object, message = 'said') {
  const lines: string[] = [];
  const log = openLog('info', 'test', { secrets: [known], destination: { write: (line) => void lines.push(line) } });
  log.info(what, message);
  expect(lines).toHaveLength(1);
  expect(lines[0]!.endsWith('}\n')).toBe(true);
  return { line: lines[0]!, json: JSON.parse(lines[0]!) };
}

describe('a line of log', () => {
  test.each([
    ['a live key', 'sk_live_abcdefghijklmnopqrstuvwxyz0123456789ABCDEF'],
    ['a test key', 'sk_test_abcdefghijklmnopqrstuvwxyz0123456789ABCDEF'],
    ['a signing secret', 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw/+=='],
    ['a trigger secret', 'trg_k3XFdN0uUl1pGkLPYJ7nk3XFdN0uUl1pG-kLPYJ7_Zq8'],
    ['a bearer token', 'Bearer eyJhbGciOi.J9.abc'],
    ['a provider key', 'sk-ant-api03-abcdefghij'],
    ['an address', 'ada.lovelace+x@example.co.uk'],
    ['an address in another script', 'jürgen@example.com'],
    ['the password of a URL', 'hunter2hunter2', 'postgresql://atelier:hunter2hunter2@127.0.0.1/x'],
    ['a secret of the environment', known],
  ])('has no %s, wherever it stands', (_, secret, text = secret) => {
    for (const what of [{ a: text }, { deep: [{ er: { text: `before ${text} after` } }] }, { err: new Error(text) }]) {
      const { line } = logged(what, `about ${text}`);
      expect(line).not.toContain(JSON.stringify(secret).slice(1, -1));
      expect(line).toContain('[redacted]');
    }
  });

  test.each([
    'authorization',
    'Authorization',
    'password',
    'secret',
    'token',
    'apiKey',
    'api_key',
    'x-api-key',
    'cookie',
  ])('has no value of the member %s', (name) => {
    const { json } = logged({ headers: { [name]: 'of "no" form', other: 'kept' } });
    expect(json.headers).toEqual({ [name]: '[redacted]', other: 'kept' });
  });

  test('keeps what is no secret', () => {
    const what = {
      route: '/api/v1/workflows/{id}',
      status: 200,
      tokensUsed: 41,
      keyId: '01a1fe39-1a6d-7cd0-a774-760707ce7020',
      path: 'node_modules/@hono/node-server/dist/index.js',
    };
    expect(logged(what).json).toMatchObject(what);
  });

  test('has one line, whatever is in it', () => {
    const { line } = logged({ text: 'a\r\nb\u2028c' }, 'x\n{"level":60}');
    expect(line.trim().split(/[\r\n]/)).toHaveLength(1);
  });

  test('shows of an error its type, code, message and stack, and no members that a library added', () => {
    const error = Object.assign(new TypeError('broken'), {
      code: '22P02',
      detail: 'Key (x)=(secret text)',
      query: 'q',
    });
    const { err } = logged({ err: error }).json;
    expect(err).toEqual({
      type: 'TypeError',
      code: '22P02',
      message: 'broken',
      stack: expect.stringContaining('broken'),
    });
  });

  test('has a limit and stays JSON', () => {
    const long = logged({ requestId: 'r', prompt: 'x'.repeat(3_000_000) });
    expect(long.line.length).toBeLessThan(17_000);
    expect(long.json).toMatchObject({ requestId: 'r', msg: 'said', truncated: true });
    const wide = logged({
      requestId: 'r',
      ...Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`k${n}`, 'v'])),
    });
    expect(wide.line.length).toBeLessThan(17_000);
    expect(wide.json).toMatchObject({ requestId: 'r', msg: 'said', truncated: true });
  });

  test('a secret that a cut goes through is not half there', () => {
    const key = 'sk_live_abcdefghijklmnopqrstuvwxyz0123456789ABCDEF';
    for (const start of [1_960, 1_990, 1_995]) {
      const { line } = logged({ text: `${'x '.repeat(start / 2)}${key}${' y'.repeat(20_000)}` });
      expect(line).not.toMatch(/sk_live_[a-z]/);
    }
  });

  test('takes no time that hostile texts could stretch', () => {
    const texts = [
      'a'.repeat(16_000),
      'a@'.repeat(8_000),
      '://'.repeat(5_000),
      'Bearer '.repeat(2_000),
      '"'.repeat(7_000),
    ];
    const logAll = () => texts.map((text) => logged({ text }));
    expect(processorMs(logAll, 1_000)).toBeLessThan(1_000);
  });
});
