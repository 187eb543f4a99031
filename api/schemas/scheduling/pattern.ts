import { z } from '@hono/zod-openapi';
import { maxOccurrences } from '../../../src/scheduling/core/occurrences.ts';
import { findPatternProblems } from '../../../src/scheduling/core/patterns.ts';
import { patternKinds } from '../../../src/scheduling/core/rules.ts';
import { prefixedIdInPath } from '../ids.ts';
import { filledText, nameText } from '../text.ts';
import { alike, clockPattern, date, datePattern, exampleTime, patternId } from './values.ts';

export const patternInPath = prefixedIdInPath('id', patternId);

// `findPatternProblems` checks their content.
const clockTime = z.string().openapi({ pattern: `^${clockPattern}$`, description: '`HH:MM` from 00:00 to 24:00.' });
const checkedDate = z.string().openapi({ pattern: datePattern, description: '`YYYY-MM-DD`' });

export const newPatternSchema = z
  .object({
    name: nameText,
    pattern: z.enum(patternKinds).openapi('PatternKind', {
      description:
        'MONTHLY, QUARTERLY and YEARLY use the last day of a month that is too short. MONTHLY_NTH is the same weekday of the month, such as its second Tuesday; the fifth is the last one.',
    }),
    interval: z.int().min(1).max(366).optional().openapi({ description: 'Every how many periods. Default 1.' }),
    daysOfWeek: z.array(z.int().min(0).max(6)).max(7, 'Expected at most 7 days.').optional().openapi({
      description: 'For WEEKLY and BI_WEEKLY: the weekdays, where 0 is Sunday. Default: the weekday of `startDate`.',
    }),
    timeStart: clockTime,
    timeEnd: clockTime,
    startDate: checkedDate,
    endDate: checkedDate.nullable().optional().openapi({ description: 'The last day. Default null: no end.' }),
    blockType: filledText(40).optional().openapi({
      description: 'Default `unavailable`. `available` opens the time; every other word closes it.',
    }),
  })
  .superRefine((given, context) => {
    const { daysOfWeek = null, endDate = null, ...times } = given;
    for (const { path, message } of findPatternProblems({ ...times, daysOfWeek, endDate })) {
      context.addIssue({ code: 'custom', path: path.split('.'), message });
    }
  })
  .openapi('NewRecurringPattern', {
    description: '`timeEnd` is after `timeStart`, and `endDate` not before `startDate`. Times are of the host.',
  });

export const patternSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    pattern: z.string(),
    interval: z.int(),
    daysOfWeek: z.array(z.int()).nullable(),
    timeStart: z.string(),
    timeEnd: z.string(),
    startDate: z.string(),
    endDate: z.string().nullable(),
    blockType: z.string(),
    createdAt: z.iso.datetime(),
  })
  .openapi('RecurringPattern');
export const patternListSchema = z.object({ recurringPatterns: z.array(patternSchema) });

export const generationSchema = z
  .object({
    count: z.int().min(1).max(maxOccurrences).optional().openapi({ description: 'Default 10.' }),
    fromDate: date.optional().openapi({ description: 'The first day, a date that exists. Default: `startDate`.' }),
  })
  .openapi('OccurrenceRange');

export const occurrencesSchema = z.object({
  occurrences: z.array(
    z
      .object({
        date: z.string(),
        dayOfWeek: z.int().openapi({ description: '0 is Sunday.' }),
        start: z.string().openapi({ description: "With the offset of the default host's zone, like `end`." }),
        end: z.string(),
        isException: z.boolean().openapi({ description: 'Whether a holiday, an exception or a blackout falls on it.' }),
      })
      .openapi('Occurrence'),
  ),
});

const given = {
  name: 'Lunch',
  pattern: 'WEEKLY' as const,
  daysOfWeek: [1, 2, 3, 4, 5],
  timeStart: '12:00',
  timeEnd: '13:00',
  startDate: '2030-01-07',
};
const monthly = {
  name: 'Team day',
  pattern: 'MONTHLY_NTH' as const,
  timeStart: '09:00',
  timeEnd: '17:00',
  startDate: '2030-01-08',
  endDate: '2030-12-31',
};
export const newPatternExamples = { A: given, B: monthly };
const shown = {
  id: patternId,
  ...given,
  interval: 1,
  endDate: null,
  blockType: 'unavailable',
  createdAt: exampleTime,
};
export const patternExamples = alike(shown);
export const patternListExamples = alike({ recurringPatterns: [shown] });
export const generationExamples = { A: {}, B: { count: 3, fromDate: '2030-03-01' } };
export const occurrencesExamples = alike({
  occurrences: [
    {
      date: '2030-01-07',
      dayOfWeek: 1,
      isException: false,
      start: '2030-01-07T12:00:00+01:00',
      end: '2030-01-07T13:00:00+01:00',
    },
  ],
});
