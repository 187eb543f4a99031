import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { seed } from '../../../test/fuzz/seed.ts';
import { moment } from '../../../test/scheduling/given.ts';
import { dayMs, dayNumber, hourMs, minuteMs } from './calendar-date.ts';
import { Spans } from './intervals.ts';
import { TimeWriter } from './write-times.ts';
import { ZoneClock } from './zone-clock.ts';

const around = (date: string) => ({ startsAt: Date.parse(date) - 3 * dayMs, endsAt: Date.parse(date) + 4 * dayMs });
const iso = (at: number) => new Date(at).toISOString().slice(0, 16);

describe('a clock', () => {
  test('shows what Intl shows, in every zone and year', () => {
    const zone = fc.constantFrom(...Intl.supportedValuesOf('timeZone'), 'UTC', 'US/Eastern', 'Asia/Kolkata');
    const at = fc.integer({ min: 0, max: Date.UTC(2100, 0, 1) / minuteMs }).map((minutes) => minutes * minuteMs);
    const holds = fc.property(zone, at, fc.integer({ min: 0, max: 90 }), (name, from, days) => {
      const clock = new ZoneClock(name, { startsAt: from - days * dayMs, endsAt: from + hourMs });
      const shown = new Intl.DateTimeFormat('sv', { timeZone: name, dateStyle: 'short', timeStyle: 'medium' }).format(
        from,
      );
      expect(new Date(clock.wallAt(from)).toISOString().slice(0, 19).replace('T', ' ')).toBe(shown);
    });
    fc.assert(holds, { seed, numRuns: 1_500 });
  });

  test.each([
    ['America/New_York', '2040-03-11', '2040-03-11T05:00'],
    ['Africa/Cairo', '2040-04-27', '2040-04-26T22:00'],
    // The clocks went back at 00:01, so the day had begun once before.
    ['America/St_Johns', '2010-11-07', '2010-11-07T02:30'],
    // Samoa had no December 30.
    ['Pacific/Apia', '2011-12-30', '2011-12-30T10:00'],
    ['Pacific/Apia', '2011-12-31', '2011-12-30T10:00'],
  ])('in %s begins %s at %s', (zone, date, start) => {
    expect(iso(new ZoneClock(zone, around(date)).startOfDay(dayNumber(date)))).toBe(start);
  });

  test.each([
    ['2040-03-11T02:30', '2040-03-11T07:30'],
    ['2040-03-11T02:00', '2040-03-11T07:00'],
    ['2040-03-11T03:00', '2040-03-11T07:00'],
    ['2040-11-04T01:30', '2040-11-04T05:30'],
    ['2040-11-04T02:00', '2040-11-04T07:00'],
  ])('shows %s in New York first at %s', (wall, expected) => {
    const clock = new ZoneClock('America/New_York', around(wall.slice(0, 10)));
    expect(iso(clock.momentOf(Date.parse(`${wall}Z`)))).toBe(expected);
  });

  test('shows a time that comes twice in both passes', () => {
    const clock = new ZoneClock('America/New_York', around('2040-11-04'));
    const wall = Spans.of([{ startsAt: Date.parse('2040-11-04T01:30Z'), endsAt: Date.parse('2040-11-04T01:45Z') }]);
    const found = [...clock.showing(wall)].map(({ startsAt, endsAt }) => `${iso(startsAt)} ${iso(endsAt)}`);
    expect(found).toEqual(['2040-11-04T05:30 2040-11-04T05:45', '2040-11-04T06:30 2040-11-04T06:45']);
  });

  test('is none of a zone that does not exist', () => {
    expect(() => new ZoneClock('Mars/X', around('2040-11-04'))).toThrow('Not a time zone: Mars/X');
  });
});

test.each([
  ['UTC', '2040-06-13T10:00:00.000Z'],
  ['GMT', '2040-06-13T10:00:00.000Z'],
  ['europe/london', '2040-06-13T11:00:00.000+01:00'],
  ['Pacific/Marquesas', '2040-06-13T00:30:00.000-09:30'],
  ['Pacific/Kiritimati', '2040-06-14T00:00:00.000+14:00'],
])('a time is written in %s as %s', (zone, text) => {
  expect(new TimeWriter(zone, around('2040-06-13')).write(moment('2040-06-13T10:00Z'))).toBe(text);
});

test('an offset with seconds cannot be written, so the time is written in UTC', () => {
  const at = moment('1971-06-13T10:00Z');
  expect(new TimeWriter('Africa/Monrovia', around('1971-06-13')).write(at)).toBe('1971-06-13T10:00:00.000Z');
});
