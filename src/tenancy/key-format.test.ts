import { describe, expect, test } from '@jest/globals';
import { generateKey, hashKey, keyEnvironment } from './key-format.ts';

describe('keys', () => {
  test('carry their environment and fit the published pattern', () => {
    for (const environment of ['live', 'test'] as const) {
      const key = generateKey(environment);
      expect(key).toMatch(new RegExp(`^sk_${environment}_[0-9A-Za-z]{42}$`));
      expect(keyEnvironment(key)).toBe(environment);
    }
  });

  test('any change of one character is noticed without a database', () => {
    const key = generateKey('test');
    for (let at = 0; at < key.length; at++) {
      const other = key[at] === 'x' ? 'y' : 'x';
      expect(keyEnvironment(key.slice(0, at) + other + key.slice(at + 1))).toBeUndefined();
    }
  });

  test.each(['', 'sk_test_', 'sk_prod_abc', 'x'.repeat(10_000), 'sk_test_Ω'])('%.20s is no key', (text) => {
    expect(keyEnvironment(text)).toBeUndefined();
  });

  test('are never alike', () => {
    const keys = new Set(Array.from({ length: 1_000 }, () => generateKey('test')));
    expect(keys.size).toBe(1_000);
    expect(hashKey([...keys][0]!)).toHaveLength(32);
  });
});
