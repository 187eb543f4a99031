import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { SealError, type SealedPlace, Sealer, type SealFailure } from './crypto.ts';

const key = (id: string) => `${id}:${randomBytes(32).toString('base64')}`;
const [k1, k2] = [key('k1'), key('k2')];
const sealer = new Sealer(k1);
const place: SealedPlace = {
  table: 'webhooks',
  column: 'secret',
  rowId: '019a0000-0000-7000-8000-000000000001',
  tenant: { organizationId: '019a0000-0000-7000-8000-0000000000aa', environment: 'live' },
};
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

function failure(work: () => unknown): SealFailure | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    if (error instanceof SealError) return error.reason;
    throw error;
  }
}

describe('a sealed text', () => {
  test('opens where it was sealed, whatever it says', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(sealer.open(sealer.seal(text, place), place)).toBe(text);
      }),
    );
  });

  test('does not contain what it hides, and is never the same twice', () => {
    const sealed = Array.from({ length: 10_000 }, () => sealer.seal(secret, place));
    expect(sealed[0]).toMatch(/^v1:k1:[A-Za-z0-9_-]+$/);
    expect(sealed[0]).not.toContain(secret);
    const nonces = new Set(sealed.map((text) => text.split(':')[2]!.slice(0, 16)));
    expect(nonces.size).toBe(sealed.length);
  });

  test('does not open in another table, column, row, organization or environment', () => {
    const sealed = sealer.seal(secret, place);
    const { tenant } = place;
    const elsewhere: SealedPlace[] = [
      { ...place, table: 'integrations' },
      { ...place, column: 'previous_secret' },
      { ...place, rowId: '019a0000-0000-7000-8000-000000000002' },
      { ...place, tenant: { ...tenant, organizationId: '019a0000-0000-7000-8000-0000000000bb' } },
      { ...place, tenant: { ...tenant, environment: 'test' } },
    ];
    for (const other of elsewhere) expect(failure(() => sealer.open(sealed, other))).toBe('tampered');
  });

  test('distinguishes places whose parts run together', () => {
    const parts = fc.record({ table: fc.string(), column: fc.string(), rowId: fc.string() });
    fc.assert(
      fc.property(parts, parts, (one, other) => {
        const sealed = sealer.seal(secret, { ...place, ...one });
        const isSame = JSON.stringify(one) === JSON.stringify(other);
        expect(failure(() => sealer.open(sealed, { ...place, ...other }))).toBe(isSame ? undefined : 'tampered');
      }),
    );
    const joined = sealer.seal(secret, { ...place, table: 'a"', column: ',"b' });
    expect(failure(() => sealer.open(joined, { ...place, table: 'a', column: '","b' }))).toBe('tampered');
  });

  test('does not open with any bit flipped', () => {
    const sealed = sealer.seal(secret, place);
    const bytes = Buffer.from(sealed.split(':')[2]!, 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3]! ^= 1 << (bit & 7);
      expect(failure(() => sealer.open(`v1:k1:${flipped.toString('base64url')}`, place))).toBe('tampered');
    }
  });

  test('does not open with any character changed, the spare bits at its end included', () => {
    const sealed = sealer.seal('a', place);
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_+/=:. ';
    for (let at = 0; at < sealed.length; at++) {
      for (const character of alphabet) {
        if (character === sealed[at]) continue;
        const changed = sealed.slice(0, at) + character + sealed.slice(at + 1);
        expect(failure(() => sealer.open(changed, place))).toBeDefined();
      }
    }
  });

  test('does not open cut short or drawn out', () => {
    const sealed = sealer.seal(secret, place);
    for (let length = 0; length < sealed.length; length++) {
      expect(failure(() => sealer.open(sealed.slice(0, length), place))).toBeDefined();
    }
    for (const more of ['A', 'AA', 'AAA', 'AAAA', '\n']) {
      expect(failure(() => sealer.open(sealed + more, place))).toBeDefined();
    }
  });
});

describe('a ring of keys', () => {
  const rotated = new Sealer(`${k2},${k1}`);

  test('opens what older keys sealed, and says that it is due for sealing', () => {
    const old = sealer.seal(secret, place);
    expect(rotated.open(old, place)).toBe(secret);
    expect(rotated.needsResealing(old)).toBe(true);
    const fresh = rotated.seal(rotated.open(old, place), place);
    expect(fresh).toMatch(/^v1:k2:/);
    expect(rotated.needsResealing(fresh)).toBe(false);
  });

  test('names a key that it does not have, and nothing secret', () => {
    const sealed = rotated.seal(secret, place);
    expect(() => sealer.open(sealed, place)).toThrow('SEALING_KEYS does not contain the key "k2"');
    expect(failure(() => sealer.open(sealed, place))).toBe('unknown_key');
  });

  test('does not open under another key of the same id', () => {
    expect(failure(() => new Sealer(key('k1')).open(sealer.seal(secret, place), place))).toBe('tampered');
  });

  test('may be absent: then nothing is sealed or opened', () => {
    const none = new Sealer(undefined);
    expect(failure(() => none.seal(secret, place))).toBe('no_keys');
    expect(failure(() => none.open(sealer.seal(secret, place), place))).toBe('no_keys');
  });

  test('takes nothing for sealed that is not', () => {
    for (const text of ['', secret, 'v1:', 'v2:k1:AAAA', 'v1:k1:', 'v1:K1:AAAA', 'v1:k1:====']) {
      expect(failure(() => sealer.open(text, place))).toBe('malformed');
      expect(failure(() => sealer.needsResealing(text))).toBe('malformed');
    }
  });
});
