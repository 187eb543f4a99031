import { expect, test } from '@jest/globals';
import { readRetryAfter } from './retry-after.ts';

const now = Date.parse('2026-11-21T12:00:00Z');

test.each([
  ['120', 120_000],
  [' 1 ', 1_000],
  ['86400', 86_400_000],
  ['86401', 86_400_000],
  ['9'.repeat(1_000), 86_400_000],
  ['Fri, 31 Dec 9999 23:59:59 GMT', 86_400_000],
  ['Sat, 21 Nov 2026 12:01:00 GMT', 60_000],
  ['Sat, 21 Nov 2026 11:59:00 GMT', undefined],
  ['Sat, 99 Nov 2026 11:59:00 GMT', undefined],
  ['2026-11-21T12:01:00Z', undefined],
  ['0', undefined],
  ['-1', undefined],
  ['1.5', 1_500],
  ['0.0001', 1],
  ['1.', undefined],
  ['1e3', undefined],
  ['abc', undefined],
  ['', undefined],
  [null, undefined],
  [undefined, undefined],
])('%j is %j ms', (header, wait) => expect(readRetryAfter(header, now)).toBe(wait));
