import { expect, test } from '@jest/globals';
import { readDuration } from './duration.ts';

test.each<[number | string, number]>([
  [0, 0],
  [90, 90_000],
  [0.001, 1],
  [1.005, 1_005],
  ['90', 90_000],
  ['1.5', 1_500],
  ['PT36H', 129_600_000],
  ['P7D', 604_800_000],
  ['P1W2DT3H4M5.006S', 788_645_006],
  ['PT0S', 0],
  ['2d3h', 183_600_000],
  ['1w2d3h4m5s', 788_645_000],
  [' 10s ', 10_000],
])('%p is a duration', (text, ms) => expect(readDuration(text)).toBe(ms));

test.each<number | string>([
  -1,
  0.0001,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  '',
  ' ',
  'P',
  'PT',
  'P1DT',
  'P1Y',
  'P1M',
  '3h2d',
  '2d 3h',
  '1.5h',
  '-5s',
  '5ms',
  '5 seconds',
  '1.0001',
])('%p is none', (text) => expect(readDuration(text)).toBeUndefined());
