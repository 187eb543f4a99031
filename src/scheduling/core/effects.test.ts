import { describe, expect, test } from '@jest/globals';
import {
  type Change,
  defaultReminders,
  type EffectKind,
  effectRetries,
  judge,
  type OpenEffect,
  planEffects,
  retryDelayMs,
  versionOf,
  wantsLink,
} from './effects.ts';

const moment = (text: string) => new Date(`2030-06-${text}Z`);
const facts = {
  occasion: 'confirmed' as const,
  start: '2030-06-12T09:00:00.000Z',
  end: '2030-06-12T09:30:00.000Z',
  previousStart: null,
  reason: null,
};
const change: Change = {
  now: moment('01T00:00:00'),
  status: 'confirmed',
  facts,
  notifyAttendee: true,
  wantsLink: false,
  reminders: defaultReminders,
  timeScale: 1,
};
const kinds = (more: Partial<Change>) => planEffects({ ...change, ...more }).map(({ kind }) => kind);

describe('the effects of a change', () => {
  test('are mails, the entry in the calendar, and reminders at instants', () => {
    const planned = planEffects(change).map(({ kind, dueAt }) => [kind, dueAt]);
    expect(planned).toEqual([
      ...['attendee_mail', 'contact_mail', 'calendar_entry'].map((kind) => [kind, change.now]),
      ['reminder_1440', moment('11T09:00:00')],
      ['reminder_60', moment('12T08:00:00')],
    ]);
    expect(kinds({ wantsLink: true, reminders: [] })).toEqual([
      'attendee_mail',
      'contact_mail',
      'calendar_entry',
      'meeting_link',
    ]);
  });

  test('include no mail to an attendee who is not to be notified, and after a cancellation no reminders and no link', () => {
    expect(kinds({ notifyAttendee: false, reminders: [] })).toEqual(['contact_mail', 'calendar_entry']);
    expect(kinds({ status: 'cancelled', wantsLink: true })).toEqual([
      'attendee_mail',
      'contact_mail',
      'calendar_entry',
    ]);
  });

  test.each([
    ['11T08:59:59', ['reminder_1440', 'reminder_60']],
    ['11T09:00:00', ['reminder_60']],
    ['12T08:30:00', []],
  ])('a change at %s leaves out reminders that would have been due', (now, expected) => {
    expect(kinds({ now: moment(now) }).filter((kind) => kind.startsWith('reminder'))).toEqual(expected);
  });

  test('two reminders at one time are one', () => {
    expect(kinds({ reminders: [5, 5, 10] }).slice(3)).toEqual(['reminder_10', 'reminder_5']);
  });
});

test('a link is made for locations that ask for it and have no address', () => {
  const offered = [
    { type: 'google_meet', autoCreate: true },
    { type: 'microsoft_teams' },
    { type: 'x', autoCreate: true },
  ];
  const wants = (type: string, url: string | null = null) => wantsLink({ type, url }, offered);
  expect([wants('google_meet'), wants('google_meet', 'https://x'), wants('microsoft_teams'), wants('x')]).toEqual([
    true,
    false,
    false,
    false,
  ]);
  expect(wantsLink(null, offered)).toBe(false);
});

test('the version counts every change', () => {
  expect(versionOf({ rescheduleCount: 2, status: 'confirmed' })).toBe(2);
  expect(versionOf({ rescheduleCount: 2, status: 'cancelled' })).toBe(3);
});

describe('what becomes of an effect', () => {
  const start = moment('12T09:00:00');
  const open = (kind: EffectKind, more: Partial<OpenEffect> = {}): OpenEffect => ({
    kind,
    version: 1,
    status: 'pending',
    attempts: 0,
    handedOverAt: null,
    dueAt: moment('01T00:00:00'),
    createdAt: moment('01T00:00:00'),
    ...more,
  });
  const verdict = (effect: OpenEffect, now: string, version = 1) => judge(effect, { version, start }, moment(now));

  test('it is performed when it is due', () => {
    expect(verdict(open('attendee_mail'), '01T00:00:00')).toBe('perform');
    expect(verdict(open('reminder_60', { dueAt: moment('12T08:00:00') }), '12T07:59:59')).toBe('wait');
    expect(verdict(open('reminder_60', { dueAt: moment('12T08:00:00') }), '12T08:00:00')).toBe('perform');
  });

  test('after a later change a mail that has not failed is sent, and everything else is left out', () => {
    expect(verdict(open('attendee_mail'), '02T00:00:00', 2)).toBe('perform');
    expect(verdict(open('attendee_mail', { attempts: 1 }), '02T00:00:00', 2)).toBe('perform');
    const failed = { attempts: 1, status: 'retrying' } as const;
    expect(verdict(open('contact_mail', failed), '02T00:00:00', 2)).toBe('skip');
    for (const kind of ['calendar_entry', 'meeting_link', 'reminder_60'] as const) {
      expect(verdict(open(kind), '02T00:00:00', 2)).toBe('skip');
    }
  });

  test('it is given up at the start, an hour after the change at the earliest, and never untried but for reminders', () => {
    const tried = { attempts: 3 };
    expect(verdict(open('attendee_mail', tried), '12T08:59:59')).toBe('perform');
    expect(verdict(open('attendee_mail', tried), '12T09:00:00')).toBe('give_up');
    const late = { ...tried, createdAt: moment('12T08:50:00') };
    expect(verdict(open('attendee_mail', late), '12T09:49:59')).toBe('perform');
    expect(verdict(open('attendee_mail', late), '12T09:50:00')).toBe('give_up');
    expect(verdict(open('attendee_mail'), '12T10:00:00')).toBe('perform');
    expect(verdict(open('reminder_60'), '12T09:00:00')).toBe('give_up');
  });

  test('a mail that was being handed over is never sent again, whatever changed', () => {
    const handed = { handedOverAt: moment('01T00:00:00'), attempts: 1 };
    expect(verdict(open('attendee_mail', handed), '01T00:00:01')).toBe('unconfirmed');
    expect(verdict(open('attendee_mail', handed), '13T00:00:01', 2)).toBe('unconfirmed');
  });
});

test('waits double from 5 seconds to an hour, which is what follows a refusal for good', () => {
  const waits = [1, 2, 3, 10, 11, 10_000].map((attempts) => retryDelayMs(attempts, false, effectRetries) / 1_000);
  expect(waits).toEqual([5, 10, 20, 2_560, 3_600, 3_600]);
  expect(retryDelayMs(1, true, effectRetries)).toBe(3_600_000);
});
