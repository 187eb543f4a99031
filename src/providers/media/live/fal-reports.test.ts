import { createHash, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { FalReports, isSigned, type ReportSignature, readKeys, readSignature, reportWindowMs } from './fal-reports.ts';

const now = 1_800_000_000_000;
const body = Buffer.from('{"request_id":"job-1","status":"OK"}');
/** By Python's `cryptography`, with the private key 00 01 02 … 1f. */
const vectorSignature =
  '81bf21958ec6e0c9320e2e3a85965c38a8d7121d9eeac94ad01797b7c0de8329' +
  '8a55fcb55d2c762bb02112af1e79f9aa00ef88840f2435985f3bb53b5d6ad300';
const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const other = generateKeyPairSync('ed25519');

interface Sent {
  requestId: string;
  userId: string;
  timestamp: string;
  body: Buffer;
  key: KeyObject;
}
const sent: Sent = { requestId: 'job-1', userId: 'user-1', timestamp: String(now / 1_000), body, key: privateKey };

/** The headers of a report as fal signs it. */
function headersOf(changes: Partial<Sent> = {}): Record<string, string> {
  const { requestId, userId, timestamp, body: signedBody, key } = { ...sent, ...changes };
  const text = [requestId, userId, timestamp, createHash('sha256').update(signedBody).digest('hex')].join('\n');
  return {
    'x-fal-webhook-request-id': requestId,
    'x-fal-webhook-user-id': userId,
    'x-fal-webhook-timestamp': timestamp,
    'x-fal-webhook-signature': sign(null, Buffer.from(text), key).toString('hex'),
  };
}
const read = (headers: Record<string, string>, at = now) => readSignature((name) => headers[name], at);
const keySet = (...keys: KeyObject[]) =>
  JSON.stringify({ keys: keys.map((key, index) => ({ ...key.export({ format: 'jwk' }), kid: String(index) })) });

describe('the signature of a report', () => {
  test('is good with any key of the set', () => {
    const report = read(headersOf())!;
    expect(isSigned(report, body, [publicKey])).toBe(true);
    expect(isSigned(report, body, [other.publicKey, publicKey])).toBe(true);
  });

  test('fits a vector that was made apart from this code', () => {
    const key = { kty: 'OKP', crv: 'Ed25519', x: 'A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg' };
    const vector: ReportSignature = {
      requestId: 'req-vector',
      userId: 'user-vector',
      timestamp: '1800000000',
      signature: Buffer.from(vectorSignature, 'hex'),
    };
    const [made] = readKeys(JSON.stringify({ keys: [key] }));
    expect(isSigned(vector, Buffer.from('{"status":"OK"}'), [made!])).toBe(true);
    expect(isSigned(vector, Buffer.from('{"status":"NO"}'), [made!])).toBe(false);
  });

  test.each<[string, () => [Record<string, string>, Buffer]]>([
    ['another body', () => [headersOf(), Buffer.from('{"request_id":"job-2","status":"OK"}')]],
    ['a body with one space more', () => [headersOf(), Buffer.concat([body, Buffer.from(' ')])]],
    ['another job', () => [{ ...headersOf(), 'x-fal-webhook-request-id': 'job-2' }, body]],
    ['another user', () => [{ ...headersOf(), 'x-fal-webhook-user-id': 'user-2' }, body]],
    ['another time', () => [{ ...headersOf(), 'x-fal-webhook-timestamp': String(now / 1_000 + 1) }, body]],
    ['a foreign key', () => [headersOf({ key: other.privateKey }), body]],
    ['a signature of zeros', () => [{ ...headersOf(), 'x-fal-webhook-signature': '0'.repeat(128) }, body]],
  ])('is refused over %s', (_, forge) => {
    const [headers, received] = forge();
    expect(isSigned(read(headers)!, received, [publicKey])).toBe(false);
  });

  test.each(Object.keys(headersOf()))('needs %s, once and well-formed', (name) => {
    const { [name]: value, ...rest } = headersOf();
    expect(read(rest)).toBeUndefined();
    for (const wrong of ['', `${value},${value}`, 'ä', `${value}\n`, 'x'.repeat(300)]) {
      expect(read({ ...rest, [name]: wrong })).toBeUndefined();
    }
  });

  test('is good for 300 seconds before and after its time', () => {
    for (const off of [-reportWindowMs, 0, reportWindowMs]) expect(read(headersOf(), now + off)).toBeDefined();
    for (const off of [-reportWindowMs - 1, reportWindowMs + 1]) expect(read(headersOf(), now + off)).toBeUndefined();
  });
});

test('of a key set only ED25519 keys are read, and twenty of them', () => {
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2_048 }).publicKey;
  expect(readKeys(keySet(rsa, publicKey))).toHaveLength(1);
  expect(readKeys(keySet(...Array.from({ length: 30 }, () => publicKey)))).toHaveLength(20);
  for (const wrong of ['', '[]', '{"keys": 1}', '{"keys": [{"kty":"OKP","crv":"Ed25519","x":"short"}]}']) {
    expect(() => readKeys(wrong)).toThrow();
  }
});

describe('the keys of fal', () => {
  function open(answers: (() => string)[]) {
    const state = { at: now, asked: 0 };
    const reports = new FalReports({
      keysUrl: 'https://keys.example',
      now: () => state.at,
      read: async () => {
        state.asked++;
        return (answers.shift() ?? answers.at(-1) ?? (() => keySet(publicKey)))();
      },
    });
    const isGenuine = (changes: Partial<Sent> = {}) => {
      const headers = headersOf({ timestamp: String(Math.floor(state.at / 1_000)), ...changes });
      return reports.isGenuine(reports.readSignature((name) => headers[name])!, body);
    };
    return { state, isGenuine };
  }

  test('are fetched once for many reports, and again after an hour', async () => {
    const { state, isGenuine } = open([() => keySet(publicKey), () => keySet(publicKey)]);
    expect(await Promise.all(Array.from({ length: 10 }, () => isGenuine()))).toEqual(Array(10).fill(true));
    expect(state.asked).toBe(1);
    state.at += 3_600_001;
    expect([await isGenuine(), await isGenuine()]).toEqual([true, true]);
    expect(state.asked).toBe(2);
  });

  test('are looked for again when a signature fits none, at most once a minute', async () => {
    const rotated = [() => keySet(publicKey), () => keySet(other.publicKey)];
    const { state, isGenuine } = open(rotated);
    expect(await isGenuine()).toBe(true);
    const forged = { key: other.privateKey };
    for (let count = 0; count < 20; count++) expect(await isGenuine(forged)).toBe(false);
    expect(state.asked).toBe(1);
    state.at += 60_001;
    expect(await isGenuine(forged)).toBe(true);
    expect(state.asked).toBe(2);
  });

  test('that cannot be had are a failure of ours, and old ones go on being used', async () => {
    const down = () => {
      throw new Error('down');
    };
    const { state, isGenuine } = open([down, () => keySet(publicKey), down]);
    await expect(isGenuine()).rejects.toThrow('down');
    await expect(isGenuine()).rejects.toThrow('not known');
    expect(state.asked).toBe(1);
    state.at += 60_001;
    expect(await isGenuine()).toBe(true);
    state.at += 3_600_001;
    expect(await isGenuine()).toBe(true);
    expect(state.asked).toBe(3);
  });
});
