import { z } from '@hono/zod-openapi';
import { sandboxFaults } from '../../../src/scheduling/calendars/calendar-entities.ts';
import { timeOfDays, timeOfInstants } from '../../../src/scheduling/calendars/clients/event-times.ts';
import { maxWritten } from '../../../src/scheduling/calendars/clients/sandbox-events.ts';
import { calendarStatuses, services } from '../../../src/scheduling/core/calendar-status.ts';
import { prefixedIdInPath } from '../ids.ts';
import { filledText, text } from '../text.ts';
import { alike, bookingId, calendarId, exampleTime, hostId } from './values.ts';

export const calendarInPath = prefixedIdInPath('id', calendarId);

const status = z.enum(calendarStatuses).openapi('CalendarStatus', {
  description: [
    '`syncing`: it is being read, or will be at once. `active`: it was read. `error`: it could not be read, and will be tried again. `auth_expired`: access was withdrawn. `disconnected`: it no longer exists. A calendar in one of the last two states is not read until the account is connected again. Busy times of earlier reads stay in force in any case.',
  ].join(' '),
});

export const calendarSchema = z
  .object({
    id: z.string(),
    service: z.enum(services),
    name: z.string(),
    status,
    hostId: z.string(),
    followChanges: z.boolean(),
    lastSyncedAt: z.iso.datetime().nullable(),
    lastError: z.object({ code: z.string(), message: z.string(), at: z.iso.datetime() }).nullable(),
    createdAt: z.iso.datetime(),
  })
  .openapi('Calendar');
export const calendarListSchema = z.object({ calendars: z.array(calendarSchema) });
export const syncSchema = z.object({ id: z.string(), status: z.literal('syncing') });

export const calendarChangeSchema = z
  .object({
    followChanges: z.boolean().openapi({
      description:
        "Whether a change of a booking's event in the calendar changes the booking: a deletion cancels it, and a move reschedules it where its rules allow. Otherwise the event is written again. Default false.",
    }),
  })
  .partial()
  .openapi('CalendarChange');

const maxSandboxEvents = 500;

const sandboxEvent = z
  .object({
    id: filledText(200),
    start: text(40),
    end: text(40),
    title: text(500).optional(),
    transparency: z.enum(['opaque', 'transparent']).optional(),
    status: z.enum(['confirmed', 'tentative', 'cancelled']).optional(),
    allDay: z.boolean().optional(),
  })
  .superRefine(({ start, end, allDay }, context) => {
    const time = allDay ? timeOfDays(start, end, 'UTC') : timeOfInstants(start, end);
    // Calendars of providers write the same date twice for one day; here the end is the day after the last one.
    const isEmpty = allDay && start.slice(0, 10) === end.slice(0, 10);
    if (time && time.startsAt < time.endsAt && !isEmpty) return;
    const form = allDay ? 'dates such as 2030-01-31' : 'times with offsets such as 2030-01-31T09:30:00Z';
    context.addIssue({ code: 'custom', path: ['start'], message: `Expected ${form}, the end after the start.` });
  })
  .openapi('SandboxEvent', {
    description:
      'RFC 3339 with `Z` or an offset; dates when `allDay` is true, of which `end` is the day after the last one.',
  });

const fault = z
  .enum(sandboxFaults)
  .nullable()
  .openapi({
    description: [
      'The failure that begins with the next sync. `revoked`: access was withdrawn. `unavailable`: requests get no answer.',
      '`rate_limited`: once. `gone`: the calendar was deleted. `sync_token_expired`: once, so that everything is read again.',
      '`partial_pages`: pages of one event.',
    ].join(' '),
  });

export const putSandboxSchema = z
  .object({
    events: z
      .array(sandboxEvent)
      .max(maxSandboxEvents, `Expected at most ${maxSandboxEvents} events.`)
      .superRefine((events, context) => {
        const seen = new Set<string>();
        for (const [index, { id }] of events.entries()) {
          if (seen.has(id)) context.addIssue({ code: 'custom', path: [index, 'id'], message: 'The id comes twice.' });
          seen.add(id);
        }
      })
      .openapi({ description: 'Each has an id of its own.' }),
    fault: fault.optional(),
  })
  .openapi('SandboxCalendarInput');

const shownEvent = {
  id: z.string(),
  start: z.string(),
  end: z.string(),
  title: z.string().optional(),
  transparency: z.string().optional(),
  status: z.string().optional(),
  allDay: z.boolean().optional(),
};
export const sandboxSchema = z
  .object({
    events: z.array(z.object(shownEvent)),
    fault,
    written: z
      .array(z.object({ ...shownEvent, meetingUrl: z.string().optional(), bookingId: z.string() }))
      .openapi({ description: `The events that stand for bookings: at most ${maxWritten}, of the newest bookings.` }),
  })
  .openapi('SandboxCalendar');

const shown = {
  id: calendarId,
  service: 'google' as const,
  name: 'Sandbox (google)',
  status: 'active' as const,
  hostId,
  followChanges: false,
  lastSyncedAt: exampleTime,
  lastError: null,
  createdAt: exampleTime,
};
export const calendarExamples = alike(shown);
export const calendarListExamples = alike({ calendars: [shown] });
export const syncExamples = alike({ id: calendarId, status: 'syncing' as const });
export const calendarChangeExamples = { A: { followChanges: true }, B: { followChanges: false } };

const trip = { id: 'trip', start: '2030-01-07', end: '2030-01-09', allDay: true, title: 'Trip' };
const lunch = { id: 'lunch', start: '2030-01-07T12:00:00Z', end: '2030-01-07T13:00:00Z' };
export const putSandboxExamples = { A: { events: [lunch, trip] }, B: { events: [lunch], fault: 'revoked' as const } };
export const sandboxExamples = alike({
  events: [lunch, trip],
  fault: null,
  written: [{ id: 'booking-1', start: '2030-01-08T09:00:00.000Z', end: '2030-01-08T09:30:00.000Z', bookingId }],
});
