import { describe, expect, test } from '@jest/globals';
import {
  booked,
  bookings,
  everyDay,
  type Given,
  given,
  moment,
  onDays,
  openStarts,
  query,
  workdays,
} from '../../../test/scheduling/given.ts';
import { decideBooking } from './decide.ts';
import { type CalendarRules, type RecurringPattern, weekdays } from './rules.ts';
import { listSlots, walkSlots } from './slots.ts';
import { writeSlots } from './write-times.ts';

const newYork = 'America/New_York';
const opens = (weeklyHours: CalendarRules['weeklyHours'], timezone = 'UTC', rest: Given = {}) =>
  given({ ...rest, rules: { weeklyHours, timezone, ...rest.rules } });
const lasting = (duration: number, rest: Given['eventType'] = {}): Given => ({ eventType: { duration, ...rest } });

/** Starts written in a zone, without its date and offset. */
const clockTimes = (starts: string[]) => starts.map((start) => start.slice(11, 16));

describe('the grid', () => {
  test.each([
    ['23:59 is the end of the day', ['00:00-23:59'], 60, 24],
    ['24:00 is the end of the day', ['00:00-24:00'], 60, 24],
    ['all day, 20 minutes', ['00:00-23:59'], 20, 72],
    ['23:45 is not the end of the day', ['00:00-23:45'], 20, 71],
    ['ranges that overlap are one', ['11:00-12:00', '11:20-12:40'], 20, 5],
    ['ranges that begin within another are one', ['06:00-10:00', '08:00-10:00'], 60, 4],
    ['ranges that touch are one', ['09:00-10:30', '10:30-12:00'], 60, 3],
    ['each range begins anew', ['07:00-07:05', '07:10-07:30'], 5, 5],
    ['a slot that would end too late is none', ['09:00-09:50'], 60, 0],
  ])('%s', (_, ranges, duration, count) => {
    const starts = openStarts(opens(everyDay(...ranges), 'UTC', lasting(duration)), '2040-06-13');
    expect(new Set(starts).size).toBe(count);
    expect(starts).toHaveLength(count);
  });

  test('starts with each range in the host’s zone, whatever the viewer’s', () => {
    const facts = opens(onDays(workdays, '09:00-17:00'), 'Europe/Rome');
    const inUtc = openStarts(facts, '2050-09-05', '2050-09-09');
    expect(inUtc).toHaveLength(40);
    expect(inUtc.slice(0, 2)).toEqual(['2050-09-05T07:00Z', '2050-09-05T08:00Z']);
    const inRome = openStarts(facts, '2050-09-05', '2050-09-09', 'Europe/Rome');
    expect(inRome[0]).toBe('2050-09-05T09:00+02:00');
    expect(inRome[7]).toBe('2050-09-05T16:00+02:00');
    const brussels = opens(everyDay('09:00-17:00', '20:30-23:00'), 'Europe/Brussels', lasting(15));
    expect(openStarts(brussels, '2040-06-13', '2040-06-13', 'Europe/Brussels').at(-1)).toBe('2040-06-13T22:45+02:00');
  });

  test.each([
    ['Asia/Kolkata', '09:30-17:30', 30, ['04:00', '04:30', '11:30']],
    ['Asia/Kolkata', '07:30-09:30', 60, ['02:00', '03:00', '03:00']],
    ['Asia/Kathmandu', '09:00-12:00', 60, ['03:15', '04:15', '05:15']],
  ])('in %s, %s', (zone, hours, duration, [first, second, last]) => {
    const starts = clockTimes(openStarts(opens(everyDay(hours), zone, lasting(duration)), '2040-06-13'));
    expect([starts[0], starts[1], starts.at(-1)]).toEqual([first, second, last]);
  });

  test('does not move with what is taken, blacked out or closed by a pattern', () => {
    const pattern: RecurringPattern = {
      pattern: 'DAILY',
      interval: 1,
      daysOfWeek: null,
      timeStart: '12:10',
      timeEnd: '12:20',
      startDate: '2040-01-01',
      endDate: null,
      blockType: 'unavailable',
    };
    const blackout = { start: '2040-06-13T14:10Z', end: '2040-06-13T14:20Z', allDay: false, recurring: false };
    const facts = opens(everyDay('09:00-17:00'), 'UTC', {
      rules: { patterns: [pattern], blackouts: [blackout] },
      occupied: bookings(booked('2040-06-13T10:10Z', 30)),
    });
    const slots = writeSlots(listSlots(facts, query('2040-06-13', '2040-06-13')), 'UTC');
    const written = slots.map(({ start, available }) => `${start.slice(11, 16)} ${available}`);
    // What is closed is no slot; what is taken is one that is not available.
    const free = ['09:00 true', '10:00 false', '11:00 true', '13:00 true', '15:00 true', '16:00 true'];
    expect(written).toEqual(free);
  });

  test('of a host who is open around the clock begins anew at midnight, and bookings need not follow it', () => {
    const facts = opens(everyDay('00:00-24:00'), 'UTC', lasting(50));
    const starts = openStarts(facts, '2040-06-12', '2040-06-13');
    expect(starts).toHaveLength(56);
    expect(starts[28]).toBe('2040-06-13T00:00Z');
    expect(decideBooking(facts, moment('2040-06-12T23:35Z'))).toBeUndefined();
  });

  test('goes over midnight where two ranges meet there', () => {
    const hours = { monday: ['23:00-23:59'], tuesday: ['00:00-00:30'] };
    const facts = opens(hours, 'Europe/London', lasting(90));
    expect(openStarts(facts, '2040-06-10', '2040-06-13')).toEqual(['2040-06-11T22:00Z']);
    const twoDays = opens(onDays('monday tuesday', '00:00-23:59'), 'Europe/London', lasting(90));
    expect(decideBooking(twoDays, moment('2040-06-11T22:30Z'))).toBeUndefined();
    expect(decideBooking(twoDays, moment('2040-06-12T22:00Z'))).toMatchObject({ reason: 'closed' });
  });

  test('shows a slot on the date on which it starts for the viewer, once', () => {
    const facts = opens(everyDay('20:00-24:00'), newYork, lasting(120));
    expect(openStarts(facts, '2040-06-13', '2040-06-13', newYork)).toEqual([
      '2040-06-13T20:00-04:00',
      '2040-06-13T22:00-04:00',
    ]);
    expect(openStarts(facts, '2040-06-13')).toEqual(['2040-06-13T00:00Z', '2040-06-13T02:00Z']);
  });
});

describe('changing clocks', () => {
  test.each([
    [newYork, '2040-03-10', '14:00'],
    [newYork, '2040-03-11', '13:00'],
    [newYork, '2040-03-12', '13:00'],
    ['Europe/London', '2040-10-27', '08:00'],
    ['Europe/London', '2040-10-28', '09:00'],
    ['Europe/London', '2040-10-31', '09:00'],
  ])('in %s on %s, 09:00 is %s in UTC', (zone, date, first) => {
    const starts = openStarts(opens(everyDay('09:00-17:00'), zone), date);
    expect(clockTimes(starts)[0]).toBe(first);
    expect(starts).toHaveLength(8);
  });

  test.each([
    [newYork, '2040-03-11', 60, 23],
    [newYork, '2040-11-03', 60, 24],
    [newYork, '2040-11-04', 60, 25],
    ['Australia/Lord_Howe', '2040-10-07', 30, 47],
    ['Australia/Lord_Howe', '2040-04-01', 30, 49],
    ['Africa/Cairo', '2040-04-27', 60, 23],
    ['Antarctica/Troll', '2030-03-31', 60, 22],
    ['Antarctica/Troll', '2030-10-27', 60, 26],
    ['America/Havana', '2030-03-10', 60, 23],
    ['America/Nuuk', '2030-03-30', 60, 23],
  ])('in %s, all of %s with %s minutes each has %s slots', (zone, date, duration, count) => {
    const starts = openStarts(opens(everyDay('00:00-24:00'), zone, lasting(duration, {})), date, date, zone);
    expect(new Set(starts).size).toBe(count);
    expect(starts).toHaveLength(count);
  });

  test('leave out what they skip, and show twice what comes twice', () => {
    const skipped = opens(everyDay('02:00-03:00'), newYork);
    expect(openStarts(skipped, '2040-03-11')).toEqual([]);
    const around = opens(everyDay('01:30-03:30'), newYork, lasting(30));
    expect(openStarts(around, '2040-03-11')).toEqual(['2040-03-11T06:30Z', '2040-03-11T07:00Z']);
    const twice = opens(everyDay('01:00-02:00'), newYork);
    expect(openStarts(twice, '2040-11-04', '2040-11-04', newYork)).toEqual([
      '2040-11-04T01:00-04:00',
      '2040-11-04T01:00-05:00',
    ]);
  });
});

describe('hours', () => {
  const exceptions = (date: string, hours: string[] | null) => ({
    timezone: null,
    default: null,
    exceptions: [{ date, hours }],
    holidays: [],
  });

  test('are Monday to Friday, 9 to 17, where none are set', () => {
    expect(openStarts(opens(null), '2040-06-11', '2040-06-17')).toHaveLength(40);
  });

  test('are those of an exception on its date', () => {
    const hours = onDays(workdays, '08:00-17:00');
    const facts = opens(hours, newYork, { rules: { businessHours: exceptions('2040-06-13', ['10:00-15:00']) } });
    expect(clockTimes(openStarts(facts, '2040-06-13'))).toEqual(['14:00', '15:00', '16:00', '17:00', '18:00']);
    expect(clockTimes(openStarts(facts, '2040-06-14'))).toHaveLength(9);
    const evening = opens(hours, newYork, { rules: { businessHours: exceptions('2040-06-13', ['22:00-23:00']) } });
    expect(openStarts(evening, '2040-06-13', '2040-06-13', newYork)).toEqual(['2040-06-13T22:00-04:00']);
    expect(openStarts(evening, '2040-06-14')[0]).toBe('2040-06-14T02:00Z');
    const kolkata = opens(everyDay('09:30-18:00'), 'Asia/Kolkata', {
      rules: { businessHours: exceptions('2040-06-13', ['14:00-18:00']) },
    });
    expect(clockTimes(openStarts(kolkata, '2040-06-13'))).toEqual(['08:30', '09:30', '10:30', '11:30']);
  });

  test('of an exception open a closed weekday and a holiday; an exception without hours closes', () => {
    const rules = (hours: string[] | null) => ({ businessHours: { ...exceptions('2040-06-16', hours), default: {} } });
    const open = opens(onDays(workdays, '09:00-17:00'), 'UTC', {
      rules: rules(['10:00-12:00']),
      holidays: ['2040-06-16'],
    });
    expect(openStarts(open, '2040-06-11', '2040-06-17')).toEqual(['2040-06-16T10:00Z', '2040-06-16T11:00Z']);
    for (const closed of [null, []]) {
      const facts = opens(everyDay('09:00-17:00'), 'UTC', { rules: rules(closed) });
      expect(decideBooking(facts, moment('2040-06-16T10:00Z'))).toMatchObject({ reason: 'exception' });
    }
  });

  test('are cut by business hours in their own zone', () => {
    const businessHours = {
      timezone: 'Europe/Berlin',
      default: onDays(workdays, '09:00-17:00'),
      exceptions: [],
      holidays: [],
    };
    const facts = opens(everyDay('08:00-12:00'), newYork, { rules: { businessHours } });
    // 08:00 in New York is 14:00 in Berlin, where 17:00 closes.
    expect(openStarts(facts, '2040-06-13', '2040-06-17', newYork)).toHaveLength(9);
    expect(clockTimes(openStarts(facts, '2040-06-13', '2040-06-13', newYork))).toEqual(['08:00', '09:00', '10:00']);
  });

  test('are closed on holidays', () => {
    const facts = opens(onDays(workdays, '09:00-17:00'), newYork, { holidays: ['2040-07-04'] });
    expect(openStarts(facts, '2040-07-04', '2040-07-04', newYork)).toEqual([]);
    expect(openStarts(facts, '2040-07-05', '2040-07-05', newYork)).toHaveLength(8);
  });

  test('are extended by patterns that open, within business hours', () => {
    const lunch = (blockType: string): RecurringPattern => ({
      pattern: 'WEEKLY',
      interval: 1,
      daysOfWeek: [3],
      timeStart: '12:00',
      timeEnd: '14:00',
      startDate: '2040-01-01',
      endDate: null,
      blockType,
    });
    const businessHours = { timezone: null, default: everyDay('09:00-13:00'), exceptions: [], holidays: [] };
    const weekly = everyDay('09:00-12:00');
    const open = opens(weekly, 'UTC', { rules: { patterns: [lunch('available')], businessHours } });
    expect(clockTimes(openStarts(open, '2040-06-13'))).toEqual(['09:00', '10:00', '11:00', '12:00']);
    expect(openStarts(open, '2040-06-14')).toHaveLength(3);
    const closed = opens(everyDay('09:00-17:00'), 'UTC', { rules: { patterns: [lunch('anything else')] } });
    expect(openStarts(closed, '2040-06-13')).toHaveLength(6);
    expect(decideBooking(closed, moment('2040-06-13T11:30Z'))).toMatchObject({ reason: 'pattern' });
  });
});

describe('what is asked for', () => {
  test('leaves out days before today, and shows the past part of today as not available', () => {
    const facts = given({ now: '2040-06-13T10:30Z', eventType: { duration: 60 } });
    const slots = listSlots(facts, query('2040-06-12', '2040-06-13'));
    expect(slots).toHaveLength(24);
    expect(slots.filter(({ available }) => !available)).toHaveLength(11);
    expect(listSlots(facts, query('2040-06-01', '2040-06-12'))).toEqual([]);
    // In Auckland it is the 13th since noon of the 12th.
    expect(listSlots(facts, query('2040-06-12', '2040-06-12', 'Pacific/Auckland'))).toEqual([]);
  });

  test('is nothing for an inactive event type', () => {
    expect(listSlots(given({ eventType: { isActive: false } }), query('2040-06-12', '2040-06-13'))).toEqual([]);
  });

  test('comes in pages, and ends with the year 9999', () => {
    const facts = given({ eventType: { duration: 1 } });
    const pages = [...walkSlots(facts, query('2040-06-01', '2040-08-31'))];
    expect(pages.flat()).toHaveLength(92 * 24 * 60);
    expect(Math.max(...pages.map((page) => page.length))).toBe(1_000);
    const end = query('9999-12-29', '9999-12-31', 'Pacific/Kiritimati');
    const written = writeSlots(listSlots(given({}), end), 'Pacific/Kiritimati');
    expect(written.at(-1)!.end).toBe('9999-12-31T14:00:00.000+14:00');
  });

  test('is written in the viewer’s zone, in UTC with Z', () => {
    const first = (zone: string) => writeSlots(listSlots(given({}), query('2040-01-13', '2040-01-13', zone)), zone)[0];
    expect(first('UTC')).toEqual({
      start: '2040-01-13T00:00:00.000Z',
      end: '2040-01-13T01:00:00.000Z',
      available: true,
    });
    expect(first('Etc/UTC')!.start).toBe('2040-01-13T00:00:00.000Z');
    expect(first('Europe/London')!.start).toBe('2040-01-13T00:00:00.000+00:00');
    expect(first('asia/kathmandu')!.start).toBe('2040-01-13T00:45:00.000+05:45');
    expect(first('America/St_Johns')!.start).toBe('2040-01-13T00:30:00.000-03:30');
  });
});

test('weekdays are counted from Sunday', () => expect(weekdays.indexOf('sunday')).toBe(0));
