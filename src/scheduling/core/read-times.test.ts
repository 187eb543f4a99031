import { describe, expect, test } from '@jest/globals';
import { findBlackoutProblems } from './blackouts.ts';
import { findHoursProblems, findWeekProblems, readDayRange, readInstant } from './read-times.ts';
import { freeSlug, isSlug, slugOf } from './slug.ts';

describe('an instant', () => {
  test.each([
    ['2040-06-13T10:00:00Z', '2040-06-13T10:00:00.000Z'],
    ['2040-06-13T10:00Z', '2040-06-13T10:00:00.000Z'],
    ['2040-06-13t10:00:00.000z', '2040-06-13T10:00:00.000Z'],
    ['2040-06-13T10:00:00+05:45', '2040-06-13T04:15:00.000Z'],
    ['2040-06-13T10:00:00-03:30', '2040-06-13T13:30:00.000Z'],
    ['1970-01-01T00:00:00Z', '1970-01-01T00:00:00.000Z'],
  ])('%s', (text, iso) => expect(new Date(readInstant(text)!).toISOString()).toBe(iso));

  test.each([
    '',
    'tomorrow',
    '2040-06-13',
    '2040-06-13T10:00:00',
    '2040-06-13 10:00:00Z',
    '2040-06-13T24:00:00Z',
    '2040-06-13T10:00:01Z',
    '2040-06-13T10:00:00.001Z',
    '2040-06-13T10:60Z',
    '2040-02-30T10:00Z',
    '2040-13-01T10:00Z',
    '1970-01-01T00:00+00:01',
    '9999-12-31T00:00Z',
    '10000-01-01T00:00Z',
    '2040-06-13T10:00+24:00',
    '2040-6-13T10:00Z',
  ])('%p is none', (text) => expect(readInstant(text)).toBeUndefined());
});

describe('hours', () => {
  test.each(['00:00-24:00', '23:59-24:00', '09:00-23:59', '00:00-00:01'])('%s', (range) => {
    expect(findHoursProblems([range], 'hours')).toEqual([]);
  });

  test.each([
    '',
    '9:00-17:00',
    '09:00-9:30',
    '17:00-09:00',
    '09:00-09:00',
    '09:00-24:01',
    '24:00-24:00',
    '09:60-10:00',
    '09:00 - 10:00',
    '09:00-17:00 ',
  ])('%p are none', (range) => expect(findHoursProblems(['10:00-11:00', range], 'hours')[0]?.path).toBe('hours.1'));

  test('of a week name its days in lower case', () => {
    expect(findWeekProblems({ monday: null, sunday: [], friday: ['09:00-17:00'] }, 'weeklyHours')).toEqual([]);
    const wrong = { Monday: ['09:00-17:00'], tuesday: ['09:00'] } as object;
    expect(findWeekProblems(wrong, 'weeklyHours').map(({ path }) => path)).toEqual([
      'weeklyHours.Monday',
      'weeklyHours.tuesday.0',
    ]);
  });
});

test.each([
  ['2040-01-01', '2040-01-01', 1],
  ['2040-01-01', '2040-04-01', 92],
  ['2040-01-01', '2040-04-02', 'end'],
  ['2040-01-02', '2040-01-01', 'end'],
  ['1969-12-31', '1970-01-01', 'start'],
  ['2040-02-30', 'x', 'start end'],
])('the days %s to %s: %s', (start, end, expected) => {
  const found = readDayRange(start, end);
  const seen =
    'range' in found ? found.range.to - found.range.from + 1 : found.problems.map(({ path }) => path).join(' ');
  expect(seen).toBe(expected);
});

test.each([
  ['2040-01-01', '2040-12-31', true, []],
  ['2039-01-01', '2040-01-02', true, ['end']],
  ['2040-01-02', '2040-01-01', true, ['end']],
  ['2040-01-01T00:00Z', '2040-01-01', true, ['start']],
  ['2040-01-01', '2040-01-02', false, ['start', 'end']],
  ['2040-01-01T10:00Z', '2040-01-01T10:00Z', false, ['end']],
  ['2040-01-01T00:00Z', '2041-01-01T00:00Z', false, []],
  ['2040-01-01T00:00Z', '2041-01-01T00:01Z', false, ['end']],
])('problems of a blackout from %s to %s, all day %s', (start, end, allDay, paths) => {
  expect(findBlackoutProblems({ start, end, allDay }).map(({ path }) => path)).toEqual(paths);
});

describe('a slug', () => {
  test.each([
    ['Intro Call', 'intro-call'],
    ['Über Café: 30 min!', 'ueber-cafe-30-min'],
    ['Привет, мир', 'privet-mir'],
    ['fooBar', 'foobar'],
    ['日本', 'event'],
    [' — ', 'event'],
    [`${'x'.repeat(99)} y`, 'x'.repeat(99)],
  ])('of %p is %s', (name, slug) => {
    expect(slugOf(name)).toBe(slug);
    expect(isSlug(slug)).toBe(true);
  });

  test('gets a number when it is taken, within its length', () => {
    expect(freeSlug('call', new Set(['call', 'call-2']))).toBe('call-3');
    const long = 'x'.repeat(100);
    expect(freeSlug(long, new Set([long]))).toBe(`${'x'.repeat(98)}-2`);
    expect(freeSlug('call', new Set())).toBe('call');
  });
});
