import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { type MailFacts, subjectOf, textOf, wallTime, whereOf } from './mail-text.ts';

const facts: MailFacts = {
  occasion: 'confirmed',
  eventType: 'Intro call',
  hostTimezone: 'Europe/Berlin',
  start: '2028-06-14T10:00:00.000Z',
  end: '2028-06-14T10:30:00.000Z',
  previousStart: null,
  reason: null,
  attendee: { name: 'Grace', email: 'grace@example.com', phone: null, timezone: 'Europe/Berlin' },
  organization: 'Navy',
  host: 'Ada',
  responses: {},
  questions: [],
  location: null,
  place: null,
  links: null,
};
const page = 'https://example.com/b/x';
const links = { confirmationUrl: page, rescheduleUrl: `${page}/reschedule`, cancelUrl: `${page}/cancel` };

test.each([
  ['confirmed', 'Confirmed: Intro call, Wed 14 Jun 2028, 12:00 Europe/Berlin'],
  ['moved', 'Moved: Intro call, Wed 14 Jun 2028, 12:00 Europe/Berlin'],
  ['cancelled', 'Cancelled: Intro call, Wed 14 Jun 2028, 12:00 Europe/Berlin'],
  ['reminder', 'Reminder: Intro call, Wed 14 Jun 2028, 12:00 Europe/Berlin'],
] as const)('the subject of a mail, %s', (occasion, expected) => {
  expect(subjectOf({ ...facts, occasion })).toBe(expected);
});

test('months are three letters long, and midnight is 00:00', () => {
  expect(wallTime('2028-09-03T22:00:00Z', 'Europe/Berlin')).toBe('Mon 4 Sep 2028, 00:00');
  expect(wallTime('2028-01-01T00:00:00Z', 'Asia/Kathmandu')).toBe('Sat 1 Jan 2028, 05:45');
});

test('the day of the end is named when it is another one', () => {
  const late = { ...facts, start: '2028-06-14T21:45:00Z', end: '2028-06-14T22:15:00Z' };
  expect(textOf(late, false)).toContain('When:    Wed 14 Jun 2028, 23:45 - Thu 15 Jun 2028, 00:15 Europe/Berlin\n');
});

test("the host's time is shown if the clocks differ, whatever the zones are called", () => {
  expect(textOf({ ...facts, hostTimezone: 'Europe/Paris' }, false)).not.toContain('Host:');
  expect(textOf({ ...facts, hostTimezone: 'UTC' }, false)).toContain('Host:    Wed 14 Jun 2028, 10:00 - 10:30 UTC\n');
});

test('links are shown unless it is cancelled, and the address of the attendee only to the contact', () => {
  const linked = { ...facts, links };
  expect(textOf(linked, false).trim().split('\n').slice(-3)).toEqual([
    `Details: ${page}`,
    `Move:    ${page}/reschedule`,
    `Cancel:  ${page}/cancel`,
  ]);
  expect(textOf({ ...linked, occasion: 'cancelled' }, false)).not.toContain(page);
  expect(textOf(linked, false)).not.toContain('grace@example.com');
  expect(textOf(linked, true)).toContain('Who:     Grace <grace@example.com>\n');
});

test.each([
  ['https://meet.example.com/x', 'video: https://meet.example.com/x'],
  ['tel:+491234', 'video: tel:+491234'],
  ['javascript:alert(1)', 'video'],
  ['data:text/html,x', 'video'],
  [' https://padded.example.com', 'video'],
  [null, 'video: Street 1, floor 2'],
])('a location at %s is shown as %s', (url, expected) => {
  expect(whereOf({ location: { type: 'video', url }, place: 'Street 1,\r\nfloor 2' })).toBe(expected);
});

test('whatever callers write, no line is added, and the subject is one line', () => {
  const anything = fc.string({ unit: 'binary', maxLength: 60 });
  const least = { ...facts, reason: 'x', location: { type: 'x', url: null }, responses: { x: 'y' } };
  const rows = textOf(least, true).split('\n').length;
  fc.assert(
    fc.property(anything, anything, anything, (reason, eventType, type) => {
      const given = {
        ...facts,
        eventType: `a${eventType}`,
        organization: `a${type}`,
        host: `b${eventType}`,
        responses: { [`x${type}`]: `y${reason}` },
        reason: `a${reason}`,
        location: { type: `a${type}`, url: null },
      };
      expect(textOf(given, true).split(/\r\n|[\n\r\u2028\u2029]/)).toHaveLength(rows);
      // biome-ignore lint/suspicious/noControlCharactersInRegex: none of them may be left
      expect(subjectOf(given)).not.toMatch(/[\u0000-\u001f\u007f\u2028\u2029]/);
    }),
  );
});
