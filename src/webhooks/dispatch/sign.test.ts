import { createHmac, timingSafeEqual } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { isBrand, isSignatureHeader, type SignedAttempt, signingInputs } from '../core/signing.ts';
import { newSecret, sign, withSignature } from './sign.ts';

type Headers = Record<string, string>;
const hex = (secret: string, text: string) => `sha256=${createHmac('sha256', secret).update(text).digest('hex')}`;
const isSame = (a: string, b: string) => a.length === b.length && timingSafeEqual(Buffer.from(a), Buffer.from(b));
const isFresh = (ms: number) => Math.abs(Date.now() - ms) <= 300_000;

/** What a receiver of variant A writes after reading the interface. */
const verifiesA = (headers: Headers, body: string, secret: string, name = 'X-Service-Signature') =>
  isFresh(Date.parse(headers['X-Service-Timestamp']!)) &&
  isSame(headers[name]!, hex(secret, `${headers['X-Service-Timestamp']}.${body}`));

/** What a receiver of variant B writes. */
const verifiesB = (headers: Headers, body: string, secret: string, name = 'X-Webhook-Signature') =>
  isFresh(Number(headers['X-Webhook-Timestamp']) * 1_000) && isSame(headers[name]!, hex(secret, body));

const verifiesStandard = (headers: Headers, body: string, secret: string) => {
  try {
    new Webhook(secret).verify(body, headers);
    return true;
  } catch {
    return false;
  }
};

const attemptAt = (sentAt: number, body = '{"id":"evt_1","type":"test.webhook"}'): SignedAttempt => ({
  eventId: 'evt_0199000000007000800000000000aaaa',
  eventType: 'test.webhook',
  deliveryId: 'dlv_0199000000007000800000000000bbbb',
  body,
  sentAt,
});
const brand = 'Service';

describe('a signed attempt', () => {
  test('verifies in all three families, whatever its body', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (data) => {
        const secret = newSecret();
        const attempt = attemptAt(Date.now(), JSON.stringify({ type: 'test.webhook', data }));
        const headers = sign(attempt, { brand, secret });
        expect(verifiesA(headers, attempt.body, secret)).toBe(true);
        expect(verifiesB(headers, attempt.body, secret)).toBe(true);
        expect(verifiesStandard(headers, attempt.body, secret)).toBe(true);
      }),
    );
  });

  test('does not verify with another body or secret', () => {
    const secret = newSecret();
    const attempt = attemptAt(Date.now());
    const headers = sign(attempt, { brand, secret });
    for (const verifies of [verifiesA, verifiesB, verifiesStandard]) {
      expect(verifies(headers, `${attempt.body} `, secret)).toBe(false);
      expect(verifies(headers, attempt.body, newSecret())).toBe(false);
    }
  });

  test('is signed by every secret that still holds after rotations', () => {
    const [secret, previousSecret, olderSecret] = [newSecret(), newSecret(), newSecret()];
    const attempt = attemptAt(Date.now());
    const headers = sign(attempt, { brand, secret, earlierSecrets: [previousSecret, olderSecret] });
    expect(verifiesA(headers, attempt.body, secret)).toBe(true);
    expect(verifiesA(headers, attempt.body, previousSecret, 'X-Service-Signature-Previous')).toBe(true);
    expect(verifiesB(headers, attempt.body, secret)).toBe(true);
    expect(verifiesB(headers, attempt.body, previousSecret, 'X-Webhook-Signature-Previous')).toBe(true);
    expect(verifiesStandard(headers, attempt.body, secret)).toBe(true);
    expect(verifiesStandard(headers, attempt.body, previousSecret)).toBe(true);
    expect(verifiesStandard(headers, attempt.body, olderSecret)).toBe(true);
    expect(headers['webhook-signature']!.split(' ')).toHaveLength(3);
    expect(Object.keys(sign(attempt, { brand, secret })).filter((name) => /previous/i.test(name))).toEqual([]);
  });

  test('has its own timestamp and keeps its ids', () => {
    const secret = newSecret();
    const [first, second] = [0, 600_000].map((later) => sign(attemptAt(Date.now() + later), { brand, secret }));
    const changed = Object.keys(first!).filter((name) => first![name] !== second![name]);
    expect(changed).toEqual([
      'X-Service-Signature',
      'X-Service-Timestamp',
      'X-Webhook-Timestamp',
      'webhook-timestamp',
      'webhook-signature',
    ]);
  });

  test('carries the same second in all three families', () => {
    const headers = sign(attemptAt(Date.UTC(2026, 10, 21, 12, 0, 0, 999)), { brand, secret: newSecret() });
    expect(headers['X-Service-Timestamp']).toBe('2026-11-21T12:00:00.000Z');
    expect(headers['X-Webhook-Timestamp']).toBe('1795262400');
    expect(headers['webhook-timestamp']).toBe('1795262400');
  });

  test('carries the names and ids that are published', () => {
    const { eventId, deliveryId, eventType } = attemptAt(0);
    expect(sign(attemptAt(Date.now()), { brand: 'Acme', secret: newSecret() })).toMatchObject({
      'X-Acme-Delivery': deliveryId,
      'X-Acme-Event': eventType,
      'X-Acme-Idempotency-Key': eventId,
      'X-Webhook-ID': eventId,
      'webhook-id': eventId,
    });
  });

  test('agrees with the vector of Standard Webhooks', () => {
    const attempt: SignedAttempt = {
      ...attemptAt(1_614_265_330_000, '{"test": 2432232314}'),
      eventId: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    };
    expect(signingInputs(attempt).standard).toBe('msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330.{"test": 2432232314}');
    const headers = sign(attempt, { brand, secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' });
    expect(headers['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  test('uses a secret without prefix as it is', () => {
    const secret = 'correct horse battery staple';
    const attempt = attemptAt(Date.now());
    const headers = sign(attempt, { brand, secret });
    expect(verifiesA(headers, attempt.body, secret)).toBe(true);
    expect(() => new Webhook(secret, { format: 'raw' }).verify(attempt.body, headers)).not.toThrow();
  });

  test('is never sent unsigned', () => {
    for (const secret of ['', 'whsec_']) expect(() => sign(attemptAt(0), { brand, secret })).toThrow('no secret');
  });
});

test('a secret is new each time and has 32 bytes', () => {
  const secrets = Array.from({ length: 100 }, newSecret);
  expect(new Set(secrets).size).toBe(100);
  for (const secret of secrets) expect(Buffer.from(secret.slice('whsec_'.length), 'base64')).toHaveLength(32);
});

test('a body that carries its signature is the JSON that was signed, and the signature last', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (data) => {
      const payload = { id: 'evt_1', type: 'slack.message', timestamp: '2026-11-21T12:00:00.000Z', data };
      const body = withSignature(payload, 'secret');
      const { signature, ...rest } = JSON.parse(body);
      expect(signature).toBe(hex('secret', JSON.stringify(payload)));
      expect(JSON.stringify(rest)).toBe(JSON.stringify(payload));
      expect(body.endsWith(`,"signature":"${signature}"}`)).toBe(true);
    }),
  );
});

test('names of signature headers and words for them', () => {
  const own = Object.keys(sign(attemptAt(0), { brand, secret: newSecret(), earlierSecrets: [newSecret()] }));
  expect(own.every((name) => isSignatureHeader(name, brand))).toBe(true);
  expect(isSignatureHeader('X-Customer', brand)).toBe(false);
  expect(['Service', 'Acme2'].every(isBrand)).toBe(true);
  expect(['', 'Webhook', 'WEBHOOK', 'My Brand', '2nd', 'a'.repeat(33)].some(isBrand)).toBe(false);
});
