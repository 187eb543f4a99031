import { expect, test } from '@jest/globals';
import { memorySizeOf } from './memory-size.ts';

test('small objects take far more memory than characters of JSON', () => {
  const objects = Array.from({ length: 1_000 }, () => ({}));
  expect(JSON.stringify(objects).length).toBeLessThan(3_100);
  expect(memorySizeOf(objects)).toBeGreaterThan(50_000);
  expect(memorySizeOf({ a: 'x'.repeat(1_000) })).toBeGreaterThan(2_000);
  expect(memorySizeOf([null, true, 1])).toBeLessThan(200);
});
