import { createHmac, createPublicKey, timingSafeEqual, verify } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { Webhook } from 'standardwebhooks';
import { Webhooks } from '../../../sdk/typescript/src/core/webhooks.ts';
import { isBrand, isSignatureHeader, type SignedAttempt, signingInputs } from '../core/signing.ts';
import { sign, withSignature } from './sign.ts';
import { newKeys, newSecret } from './signing-keys.ts';

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

describe('an attempt that is signed with a private key', () => {
  const kind = 'ed25519';
  /** What a receiver writes after reading Standard Webhooks. */
  const verifiesPublic = (headers: Headers, body: string, publicKey: string) => {
    const { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': signatures } = headers;
    const x = Buffer.from(publicKey.slice('whpk_'.length), 'base64').toString('base64url');
    const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
    return signatures!.split(' ').some((one) => {
      const [version, signature] = one.split(',');
      return (
        version === 'v1a' && verify(null, Buffer.from(`${id}.${time}.${body}`), key, Buffer.from(signature!, 'base64'))
      );
    });
  };

  test('verifies with the public keys of all that sign, and with no other', async () => {
    const [current, previous, other] = [newKeys(kind), newKeys(kind), newKeys(kind)];
    const attempt = attemptAt(Date.now());
    const headers = sign(attempt, { brand, kind, secret: current.secret, earlierSecrets: [previous.secret] });
    for (const { publicKey } of [current, previous]) {
      expect(publicKey).toMatch(/^whpk_[A-Za-z0-9+/]{43}=$/);
      expect(verifiesPublic(headers, attempt.body, publicKey!)).toBe(true);
      expect(verifiesPublic(headers, `${attempt.body} `, publicKey!)).toBe(false);
      expect(await Webhooks.verify(attempt.body, headers, publicKey!)).toEqual(JSON.parse(attempt.body));
    }
    expect(verifiesPublic(headers, attempt.body, other.publicKey!)).toBe(false);
    await expect(Webhooks.verify(attempt.body, headers, other.publicKey!)).rejects.toThrow();
  });

  test('has no signature of a secret, and the other headers of all families', () => {
    const headers = sign(attemptAt(Date.now()), { brand, kind, secret: newKeys(kind).secret });
    const withSecret = sign(attemptAt(Date.now()), { brand, secret: newSecret() });
    const signatures = ['X-Service-Signature', 'X-Webhook-Signature'];
    expect(Object.keys(headers)).toEqual(Object.keys(withSecret).filter((name) => !signatures.includes(name)));
    expect(headers['webhook-signature']).toMatch(/^v1a,[A-Za-z0-9+/]{86}==$/);
  });

  test('agrees with the vector of RFC 8032', () => {
    const bytes = (hexadecimal: string) => Buffer.from(hexadecimal, 'hex').toString('base64');
    const secret = `whsk_${bytes('9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60')}`;
    const publicKey = `whpk_${bytes('d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a')}`;
    const attempt = attemptAt(Date.now());
    expect(verifiesPublic(sign(attempt, { brand, kind, secret }), attempt.body, publicKey)).toBe(true);
  });

  test('is never sent unsigned', () => {
    for (const secret of ['', 'whsk_', newSecret()]) {
      expect(() => sign(attemptAt(0), { brand, kind, secret })).toThrow('no private key');
    }
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
