import { expect, test } from '@jest/globals';
import { readMoment } from './moment.ts';

test.each([
  ['2030-01-01T09:00:00Z', '2030-01-01T09:00:00.000Z'],
  [' 2030-01-01 09:00+05:30 ', '2030-01-01T03:30:00.000Z'],
  ['2028-02-29t09:00:00.123456z', '2028-02-29T09:00:00.123Z'],
])('%s', (text, iso) => expect(readMoment(text)?.toISOString()).toBe(iso));

test.each(['2030-01-01T09:00:00', '2030-02-30T09:00:00Z', '2030-01-01', '2030-13-01T09:00:00Z', 'tomorrow'])(
  '%s is none',
  (text) => expect(readMoment(text)).toBeUndefined(),
);
