import { describe, expect, test } from '@jest/globals';
import { findCronProblem, includesTime, nextTimes, temporalExpressions } from './cron.ts';

describe('an expression', () => {
  test.each([
    '* * * * *',
    ' 0 9 * * 1-5 ',
    '0 0 1,15 * *',
    '*/15 8-18/2 * jan-MAR Mon,WED',
    '0 0 * * 7',
    '0 0 * * 0,7',
    '0 0 * * sun,1-7',
    '1,1,0-3 * * * *',
    '*/60 05 * * *',
    '@Hourly',
    '@midnight',
  ])('may be %p', (cron) => expect(findCronProblem(cron)).toBeUndefined());

  test.each([
    '',
    'hourly',
    '* * * *',
    '* * * * * *',
    '@every 5m',
    '@minutely',
    'TZ=UTC * * * * *',
    '60 * * * *',
    '0 24 * * *',
    '0 0 0 * *',
    '0 0 * 13 *',
    '0 0 * * 8',
    '0 22-2 * * *',
    '*/0 * * * *',
    '1,,2 * * * *',
    '0 0 30 2 *',
    '0 0 31 4,6 *',
    '0 0 L * *',
    '0 0 * * 5L',
    '0 0 * * 1#2',
    '0 0 15W * *',
    'H * * * *',
    '0 0 ? * 1',
    '0 0 * foo *',
    '-1 * * * *',
    '1.5 * * * *',
  ])('may not be %p', (cron) => expect(findCronProblem(cron)).toMatch(/\w/));

  test.each([
    ['60 * * * *', 'The minute "60" is not a number from 0 to 59.'],
    ['0 0 * foo *', 'The month "foo" is not a number from 1 to 12 or a name like feb.'],
    ['0 22-2 * * *', 'The range "22-2" of the hour ends before it begins.'],
    ['*/0 * * * *', 'The step "0" of the minute is not a number above 0.'],
    ['0 0 31 4,6 *', 'No date matches: none of its months has such a day.'],
  ])('%p is refused in our own words', (cron, message) => expect(findCronProblem(cron)).toBe(message));

  test('is given to Temporal in numbers, as two expressions if either day suffices', () => {
    expect(temporalExpressions('@weekly')).toEqual(['0 0 * * 0']);
    expect(temporalExpressions('*/20 8-10 * jan,MAR mon-wed')).toEqual(['0,20,40 8,9,10 * 1,3 1,2,3']);
    expect(temporalExpressions('0 0 * * 5-7')).toEqual(['0 0 * * 0,5,6']);
    expect(temporalExpressions('0 0 * * 0,7')).toEqual(['0 0 * * 0']);
    expect(temporalExpressions('0 0 1 * 0-7')).toEqual(['0 0 1 * *', '0 0 * * 0,1,2,3,4,5,6']);
    expect(temporalExpressions('0 0 13 * 5')).toEqual(['0 0 13 * *', '0 0 * * 5']);
  });
});

describe('times', () => {
  const next = (cron: string, timezone: string, after: string, count: number) =>
    nextTimes(cron, timezone, new Date(after), count).map((time) => time.toISOString().slice(0, 16));

  test('are those of the zone, after the given moment', () => {
    expect(next('0 9 * * 1-5', 'Europe/Berlin', '2026-03-27T08:00:00Z', 2)).toEqual([
      '2026-03-30T07:00',
      '2026-03-31T07:00',
    ]);
    expect(next('0 0 29 2 *', 'UTC', '2026-01-01T00:00:00Z', 2)).toEqual(['2028-02-29T00:00', '2032-02-29T00:00']);
  });

  test('skip those that daylight saving skips', () => {
    expect(next('30 2 * * *', 'Europe/Berlin', '2026-03-28T00:00:00Z', 2)).toEqual([
      '2026-03-28T01:30',
      '2026-03-30T00:30',
    ]);
  });

  test('include a moment when the clocks show it', () => {
    const shows = (at: string) => includesTime('30 2 * * *', 'Europe/Berlin', new Date(at));
    expect(shows('2026-03-30T00:30:00Z')).toBe(true);
    expect(shows('2026-03-30T00:30:01Z')).toBe(false);
    expect(shows('2026-03-30T02:30:00Z')).toBe(false);
  });
});
