import { z } from '@hono/zod-openapi';
import { hostIds } from '../../../src/scheduling/core/ids.ts';
import { text } from '../text.ts';
import { alike, date, dayHours, hostOfSetting, timezone, weekInput, weekShown } from './values.ts';

const maxExceptions = 500;
const maxHolidays = 20;

export const newRulesSchema = z
  .object({
    timezone,
    weeklyHours: weekInput,
    hostId: z.string().optional().openapi({ description: 'Default: the default host.' }),
  })
  .openapi('NewAvailabilityRules');

export const rulesSchema = z.object({ timezone: z.string(), weeklyHours: weekShown }).openapi('AvailabilityRules');

export const hostInQuery = z.object({
  hostId: z
    .string()
    .optional()
    .openapi({ param: { name: 'hostId', in: 'query' }, description: 'Default: the default host.' }),
});

const exception = z.object({
  date,
  name: text(100).optional(),
  hostId: hostOfSetting,
  hours: dayHours.openapi({
    description: 'With hours the date is open then, whatever the weekly hours and holidays say. Null: closed.',
  }),
});

const exceptions = z
  .array(exception)
  .max(maxExceptions, `Expected at most ${maxExceptions} exceptions.`)
  .superRefine((given, context) => {
    const seen = new Set<string>();
    for (const [index, { date, hostId }] of given.entries()) {
      const name = `${date} ${hostId ? (hostIds.parse(hostId) ?? hostId) : ''}`;
      if (seen.has(name)) context.addIssue({ code: 'custom', path: [index, 'date'], message: 'Listed twice.' });
      seen.add(name);
    }
  })
  .openapi({
    description:
      'A date has at most one exception for all hosts and one for each host. The exception of a host overrides the one for all hosts.',
  });

const holidays = z.array(z.string().max(10)).max(maxHolidays, `Expected at most ${maxHolidays} calendars.`).openapi({
  description:
    'Public holidays: codes of countries (ISO 3166), or of their regions as in `DE-BY`, in either case. Each is closed.',
});

export const newBusinessHoursSchema = z
  .object({
    timezone: timezone
      .nullish()
      .openapi({ description: 'A name of the tz database. Without it, or null: that of each host.' }),
    default: weekInput.nullish().openapi({
      description: 'Hosts can be booked within these hours only. Without it, or null: no restriction.',
    }),
    exceptions: exceptions.optional(),
    holidays: holidays.optional(),
  })
  .openapi('NewBusinessHours');

const nothing = 'Null: no restriction.';
export const businessHoursSchema = z
  .object({
    timezone: z.string().nullable().openapi({ description: 'Null: that of each host.' }),
    default: z.union([weekShown, z.null()]).openapi({ description: nothing }),
    exceptions: z.array(
      z.object({
        date: z.string(),
        name: z.string().optional(),
        hours: z.array(z.string()).nullable(),
        hostId: z.string().optional(),
      }),
    ),
    holidays: z.array(z.string()),
  })
  .openapi('BusinessHours');

const week = {
  monday: ['09:00-12:00', '13:00-17:00'],
  wednesday: ['09:00-17:00'],
  thursday: ['09:00-17:00'],
  friday: null,
};
const allDay = ['00:00-24:00'];
const everyDay = {
  monday: allDay,
  tuesday: allDay,
  wednesday: allDay,
  thursday: allDay,
  friday: allDay,
  saturday: null,
  sunday: null,
};
export const newRulesExamples = alike({ timezone: 'Europe/Berlin', weeklyHours: week });
const shownWeek = { ...week, tuesday: null, saturday: null, sunday: null };
export const rulesExamples = alike({ timezone: 'Europe/Berlin', weeklyHours: shownWeek });

const given = {
  timezone: 'Europe/Berlin',
  exceptions: [{ date: '2030-12-24', name: 'Christmas Eve', hours: ['09:00-12:00'] }],
  holidays: ['DE-BY'],
};
export const newBusinessHoursExamples = { A: { holidays: ['US'] }, B: { ...given, default: everyDay } };
export const businessHoursExamples = alike({ ...given, default: everyDay });
