import { describe, expect, test } from '@jest/globals';
import {
  booked,
  bookings,
  everyDay,
  given,
  moment,
  onDays,
  openStarts,
  workdays,
} from '../../../test/scheduling/given.ts';
import { decideBooking, type Facts } from './decide.ts';
import { refusalDetails } from './refusals.ts';
import type { BlackoutPeriod } from './rules.ts';

const refusalOf = (facts: Facts, start: string) => {
  const refusal = decideBooking(facts, moment(start));
  return refusal && `${refusal.code} ${refusal.code === 'booking_limit_reached' ? refusal.limit : refusal.reason}`;
};
const details = (facts: Facts, start: string) => refusalDetails(decideBooking(facts, moment(start))!);
const at = (clock: string) => `2040-06-13T${clock}Z`;

describe('buffers', () => {
  const after = given({ eventType: { bufferAfter: 30 }, occupied: bookings(booked(at('10:00'), 60, 0, 30)) });
  const before = given({ eventType: { bufferBefore: 20 }, occupied: bookings(booked(at('10:00'), 60, 20, 0)) });
  const both = { bufferBefore: 120, bufferAfter: 120 };
  const block = { startsAt: moment(at('04:00')), endsAt: moment(at('06:00')) };

  test.each([
    [after, '11:00', 'buffer_conflict buffer'],
    [after, '11:30', undefined],
    [after, '10:30', 'slot_unavailable booked'],
    [before, '08:45', 'buffer_conflict buffer'],
    [before, '08:40', undefined],
    [before, '11:00', 'buffer_conflict buffer'],
    [before, '11:20', undefined],
  ])('case %#', (facts, start, refusals) => expect(refusalOf(facts, at(start))).toBe(refusals));

  test('do not count at the edges of a day', () => {
    const facts = given({
      rules: { weeklyHours: everyDay('09:00-17:00') },
      eventType: { bufferBefore: 30, bufferAfter: 30 },
    });
    const starts = openStarts(facts, '2040-06-13');
    expect([starts[0], starts.at(-1)]).toEqual([at('09:00'), at('16:00')]);
  });

  test('of a booking and of another add up; to other calendars only those of the new one apply', () => {
    const eventType = { duration: 120, ...both };
    const busy = given({ eventType, occupied: { busy: [block] } });
    expect([refusalOf(busy, at('07:59')), refusalOf(busy, at('08:00'))]).toEqual(['buffer_conflict buffer', undefined]);
    expect(refusalOf(busy, at('05:30'))).toBe('slot_unavailable calendar');
    const own = given({ eventType, occupied: bookings(booked(at('04:00'), 120, 120, 120)) });
    expect([refusalOf(own, at('09:59')), refusalOf(own, at('10:00'))]).toEqual(['buffer_conflict buffer', undefined]);
  });

  test('are reported without the owner of the other booking', () => {
    expect(details(after, at('11:00'))).toEqual({
      start: '2040-06-13T11:00:00.000Z',
      end: '2040-06-13T12:00:00.000Z',
      reason: 'buffer',
      conflictsUntil: '2040-06-13T11:30:00.000Z',
    });
  });
});

describe('notice and advance', () => {
  test('a start in the past, or before the notice has passed, is too early', () => {
    const facts = given({ now: at('09:00'), eventType: { minNotice: 2 } });
    expect(refusalOf(facts, at('08:59'))).toBe('notice_too_short past');
    expect(refusalOf(facts, at('10:59'))).toBe('notice_too_short notice');
    expect(refusalOf(facts, at('11:00'))).toBeUndefined();
    const late = { ...facts, now: facts.now + 1 };
    expect(refusalOf(late, at('11:00'))).toBe('notice_too_short notice');
    expect(details(late, at('11:00'))).toMatchObject({ reason: 'notice', earliest: '2040-06-13T11:01:00.000Z' });
    expect(refusalOf(given({ now: at('09:00') }), at('09:00'))).toBeUndefined();
  });

  test.each(['2040-06-13T00:00-07:00', '2040-06-13T23:59-07:00'])(
    'days ahead are those of the host, at %s too',
    (now) => {
      const facts = given({
        now,
        rules: { timezone: 'America/Los_Angeles' },
        eventType: { duration: 30, maxAdvance: 2 },
      });
      expect(refusalOf(facts, '2040-06-15T17:30-07:00')).toBeUndefined();
      expect(refusalOf(facts, '2040-06-15T23:59-07:00')).toBeUndefined();
      expect(refusalOf(facts, '2040-06-16T00:00-07:00')).toBe('too_far_advance advance');
      expect(details(facts, '2040-06-16T12:00Z')).toMatchObject({
        reason: 'advance',
        latest: '2040-06-16T06:59:00.000Z',
      });
    },
  );
});

describe('blackouts', () => {
  const black = (blackout: Partial<BlackoutPeriod>, timezone = 'UTC') =>
    given({
      rules: {
        timezone,
        blackouts: [{ start: '2040-12-24', end: '2040-12-26', allDay: true, recurring: false, ...blackout }],
      },
    });
  const yes = 'blackout_period blackout';

  test.each<[string, Partial<BlackoutPeriod>, ...(readonly [string, string | undefined])[]]>([
    [
      'both ends are included',
      {},
      ['12-23T23:00', undefined],
      ['12-24T00:00', yes],
      ['12-26T23:00', yes],
      ['12-27T00:00', undefined],
    ],
    ['any part suffices', {}, ['12-23T23:30', yes]],
    ['not in another year', {}, ['2041-12-25T10:00', undefined]],
    [
      'every year',
      { recurring: true },
      ['2041-12-25T10:00', yes],
      ['2067-12-24T10:00', yes],
      ['2041-12-27T10:00', undefined],
    ],
    ['not before its first year', { recurring: true }, ['2039-12-25T10:00', undefined]],
    [
      'over new year',
      { start: '2040-12-30', end: '2041-01-02', recurring: true },
      ...([
        ['2040-01-01T10:00', undefined],
        ['2041-01-02T10:00', yes],
        ['2050-01-02T10:00', yes],
        ['2050-01-03T00:00', undefined],
      ] as const),
    ],
    [
      'on February 29',
      { start: '2040-02-29', end: '2040-02-29', recurring: true },
      ...([
        ['2040-02-28T10:00', undefined],
        ['2041-02-28T10:00', yes],
        ['2044-02-28T10:00', undefined],
        ['2044-02-29T10:00', yes],
      ] as const),
    ],
    [
      'until February 29, by the clock',
      { start: '2040-02-28T18:00Z', end: '2040-02-29T06:00Z', allDay: false, recurring: true },
      ...([
        ['2041-02-28T18:00', yes],
        ['2041-03-01T05:00', yes],
        ['2041-03-01T06:00', undefined],
      ] as const),
    ],
    ['all year', { start: '2040-01-01', end: '2040-12-31', recurring: true }, ['2055-07-07T10:00', yes]],
    [
      'by the clock',
      { start: '2040-06-13T10:00Z', end: '2040-06-13T11:00Z', allDay: false },
      ...([
        ['06-13T09:00', undefined],
        ['06-13T09:30', yes],
        ['06-13T11:00', undefined],
      ] as const),
    ],
  ])('%s', (_, blackout, ...cases) => {
    for (const [start, refusals] of cases) {
      const full = start.length > 12 ? start : `2040-${start}`;
      expect([full, refusalOf(black(blackout), `${full}Z`)]).toEqual([full, refusals]);
    }
  });

  test('by the clock and yearly follow the wall clock of the host', () => {
    // 09:00 to 10:00 in New York, in June and, moved to another year, in the week after the clocks have changed.
    const facts = black(
      { start: '2040-03-10T14:00Z', end: '2040-03-10T15:00Z', allDay: false, recurring: true },
      'America/New_York',
    );
    expect(refusalOf(facts, '2040-03-10T14:00Z')).toBe(yes);
    expect(refusalOf(facts, '2041-03-10T14:00Z')).toBeUndefined();
    expect(refusalOf(facts, '2041-03-10T13:00Z')).toBe(yes);
  });

  test('are all day in the host’s zone, and say until when', () => {
    const facts = black({}, 'America/New_York');
    expect(refusalOf(facts, '2040-12-24T03:00Z')).toBeUndefined();
    expect(refusalOf(facts, '2040-12-24T05:00Z')).toBe(yes);
    expect(details(facts, '2040-12-25T05:00Z')).toMatchObject({ conflictsUntil: '2040-12-27T05:00:00.000Z' });
  });
});

describe('limits', () => {
  const day = '2040-06-13';
  const two = bookings(booked(at('08:00'), 60), booked(at('10:00'), 60));

  test('of a day are those of the host’s day', () => {
    const rules = { timezone: 'Asia/Dhaka' };
    const one = given({ rules, limits: { dailyMax: 1 }, occupied: bookings(booked(at('08:00'), 60)) });
    expect(openStarts(one, day, day, 'Asia/Dhaka')).toEqual([]);
    expect(openStarts(one, '2040-06-14', '2040-06-14', 'Asia/Dhaka')).toHaveLength(24);
    expect(details(one, at('09:00'))).toEqual({ limit: 'dailyMax', max: 1, current: 1, period: day });
    const more = given({ rules, limits: { dailyMax: 2 }, occupied: bookings(booked(at('08:00'), 60)) });
    expect(openStarts(more, day, day, 'Asia/Dhaka')).toHaveLength(23);
  });

  test('of a week begin on Monday, and those of a month with the month', () => {
    const week = given({ limits: { weeklyMax: 2 }, occupied: two });
    expect(details(week, '2040-06-17T23:00Z')).toEqual({ limit: 'weeklyMax', max: 2, current: 2, period: '2040-W24' });
    expect([refusalOf(week, '2040-06-10T23:00Z'), refusalOf(week, '2040-06-18T00:00Z')]).toEqual([
      undefined,
      undefined,
    ]);
    const month = given({ limits: { monthlyMax: 2 }, occupied: two });
    expect(details(month, '2040-06-30T23:00Z')).toEqual({ limit: 'monthlyMax', max: 2, current: 2, period: '2040-06' });
    expect([refusalOf(month, '2040-05-31T23:00Z'), refusalOf(month, '2040-07-01T00:00Z')]).toEqual([
      undefined,
      undefined,
    ]);
  });

  test('keep the least pause', () => {
    const facts = given({ limits: { minGapMinutes: 15 }, occupied: two });
    expect(details(facts, '2040-06-13T11:10Z')).toEqual({ limit: 'minGapMinutes', max: 15, current: 10 });
    expect(refusalOf(facts, at('11:15'))).toBeUndefined();
    expect(refusalOf(facts, at('09:00'))).toBe('booking_limit_reached minGapMinutes');
  });

  test('join bookings to runs on either side', () => {
    const facts = given({ limits: { consecutiveMax: 2 }, occupied: two });
    expect(details(facts, at('09:00'))).toEqual({ limit: 'consecutiveMax', max: 2, current: 2 });
    expect(refusalOf(facts, at('11:00'))).toBeUndefined();
    expect(refusalOf(given({ limits: { consecutiveMax: 1 }, occupied: two }), at('11:00'))).toBe(
      'booking_limit_reached consecutiveMax',
    );
    const paused = given({ limits: { consecutiveMax: 1, minGapMinutes: 30 }, occupied: two });
    expect([refusalOf(paused, at('11:30')), refusalOf(paused, at('11:31'))]).toEqual([
      'booking_limit_reached consecutiveMax',
      undefined,
    ]);
    const buffered = given({
      limits: { consecutiveMax: 1 },
      eventType: { bufferBefore: 10 },
      occupied: bookings(booked(at('08:00'), 60, 0, 20)),
    });
    expect([refusalOf(buffered, at('09:30')), refusalOf(buffered, at('09:31'))]).toEqual([
      'booking_limit_reached consecutiveMax',
      undefined,
    ]);
  });

  test('are checked in their order', () => {
    const order = ['minGapMinutes', 'consecutiveMax', 'dailyMax', 'weeklyMax', 'monthlyMax'] as const;
    const gap = { minGapMinutes: 15 };
    for (const [index, limit] of order.entries()) {
      const ones = Object.fromEntries(order.slice(index).map((name) => [name, 1]));
      // Ten minutes after a booking only the first is in the way, a quarter of an hour after it the run, later the rest.
      const start = ['11:10', '11:15'][index] ?? '13:00';
      const facts = given({ limits: { ...ones, ...(index < 2 && gap) }, occupied: two });
      expect(refusalOf(facts, at(start))).toBe(`booking_limit_reached ${limit}`);
    }
  });
});

test('the first reason in the published order is reported', () => {
  const start = at('10:30');
  const rules = {
    weeklyHours: onDays(workdays, '18:00-19:00'),
    blackouts: [{ start: '2040-06-13', end: '2040-06-13', allDay: true, recurring: false }],
  };
  const occupied = bookings(booked(at('10:00'), 60, 60, 60), booked(at('11:31'), 10));
  const all = {
    rules,
    occupied,
    limits: { minGapMinutes: 600 },
    now: at('12:00'),
    eventType: { isActive: false, maxAdvance: 0 },
  };
  const refusals: (string | undefined)[] = [refusalOf(given(all), start)];
  refusals.push(refusalOf(given({ ...all, eventType: { maxAdvance: 0 } }), start));
  const early = { ...all, now: '2040-06-01T00:00Z' };
  refusals.push(refusalOf(given({ ...early, eventType: { maxAdvance: 0 } }), start));
  refusals.push(refusalOf(given({ ...early, eventType: {} }), start));
  refusals.push(refusalOf(given({ ...early, eventType: {}, rules: { weeklyHours: rules.weeklyHours } }), start));
  const open = { ...early, eventType: {}, rules: {} };
  refusals.push(
    refusalOf(given(open), start),
    refusalOf(given(open), at('11:45')),
    refusalOf(given(open), at('13:00')),
  );
  expect(refusals).toEqual([
    'outside_availability inactive',
    'notice_too_short past',
    'too_far_advance advance',
    'blackout_period blackout',
    'outside_availability closed',
    'slot_unavailable booked',
    'buffer_conflict buffer',
    'booking_limit_reached minGapMinutes',
  ]);
});
