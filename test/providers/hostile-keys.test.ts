import { generateKeyPairSync } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { FalReports, readKeys } from '../../src/providers/media/live/fal-reports.ts';
import { type HostileFront, hostileAnswers, openFront } from '../cost/hostile-front.ts';

let front: HostileFront;
beforeAll(async () => {
  front = await openFront('http://127.0.0.1:1');
});
afterAll(() => front.close());

const report = { requestId: 'r', userId: 'u', timestamp: '1', signature: Buffer.alloc(64) };

test.each(Object.entries(hostileAnswers))('keys of fal: %s is refused, and the report with it', async (_, hostile) => {
  front.arm(hostile);
  const reports = new FalReports({ keysUrl: front.origin });
  await expect(reports.isGenuine(report, Buffer.from('{}'))).rejects.toThrow();
  expect(front.answered).toBe(1);
});

test('at most 20 keys are read, and none of an answer with thousands', () => {
  const { publicKey } = generateKeyPairSync('ed25519');
  const { kty, crv, x } = publicKey.export({ format: 'jwk' });
  const keysOf = (count: number) => JSON.stringify({ keys: Array.from({ length: count }, () => ({ kty, crv, x })) });
  expect(readKeys(keysOf(200))).toHaveLength(20);
  expect(() => readKeys(keysOf(5_000))).toThrow();
});
