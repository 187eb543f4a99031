import { z } from '@hono/zod-openapi';
import { findTimezone } from '../../../src/platform/core/timezone.ts';
import { readDay } from '../../../src/scheduling/core/calendar-date.ts';
import { readHours, readInstant } from '../../../src/scheduling/core/read-times.ts';

const isZone = (name: string) => name.length <= 64 && findTimezone(name) !== undefined;

/** A zone name, kept as sent. */
export const timezone = z
  .string()
  .refine(isZone, 'Expected a zone of the tz database, such as Europe/Berlin.')
  .openapi('TimeZone', { maxLength: 64, description: 'A name of the tz database, links included; no offsets.' });

export const datePattern = '^\\d{4}-\\d{2}-\\d{2}$';
const dateProblem = 'Expected a date such as 2026-11-21, from 1970 on.';

/** A date, kept as sent. */
export const date = z
  .string()
  .refine((text) => readDay(text) !== undefined, dateProblem)
  .openapi({ pattern: datePattern, description: 'A date that exists, `YYYY-MM-DD`, from 1970 to 9999.' });

const instantPattern = '^\\d{4}-\\d{2}-\\d{2}[Tt]\\d{2}:\\d{2}(:00(\\.0+)?)?([Zz]|[+-]\\d{2}:\\d{2})$';

/** An instant in whole minutes, kept as sent. */
export const instant = z
  .string()
  .refine(
    (text) => readInstant(text) !== undefined,
    'Expected a time in whole minutes with its offset, such as 2026-11-21T09:30:00Z.',
  )
  .openapi({
    pattern: instantPattern,
    description: 'RFC 3339 with `Z` or an offset, in whole minutes, from 1970 to 9999-12-30 (UTC).',
  });

/** Matches a time `HH:MM`. */
export const clockPattern = '([01]\\d|2[0-4]):[0-5]\\d';

const range = z
  .string()
  .refine((text) => readHours(text) !== undefined, 'Expected HH:MM-HH:MM, the end after the start.')
  .openapi('HourRange', {
    pattern: `^${clockPattern}-${clockPattern}$`,
    description: '`HH:MM-HH:MM`, its end after its start, until 24:00 at most. `23:59` as the end means 24:00.',
  });

const maxRanges = 24;

/** The open hours of a day; null or an empty list for a closed day. */
export const dayHours = z
  .array(range)
  .max(maxRanges, `Expected at most ${maxRanges} ranges.`)
  .nullable()
  .openapi({ description: 'Ranges may overlap. Null or an empty list: closed.' });

/** By weekday. A day that is left out is closed. */
export const weekInput = z
  .strictObject({
    monday: dayHours.optional(),
    tuesday: dayHours.optional(),
    wednesday: dayHours.optional(),
    thursday: dayHours.optional(),
    friday: dayHours.optional(),
    saturday: dayHours.optional(),
    sunday: dayHours.optional(),
  })
  .openapi('WeeklyHoursInput', { description: 'A day that is left out is closed.' });

const shownDay = z.array(z.string()).nullable();
export const weekShown = z
  .object({
    monday: shownDay,
    tuesday: shownDay,
    wednesday: shownDay,
    thursday: shownDay,
    friday: shownDay,
    saturday: shownDay,
    sunday: shownDay,
  })
  .openapi('WeeklyHours', { description: 'All seven days; null for a closed one.' });

/** The host of a setting. An unknown host is refused with 400 there. */
export const hostOfSetting = z
  .string()
  .nullish()
  .openapi({ type: ['string', 'null'], description: 'The host that it applies to. Without it, or null: all hosts.' });

/** Scheduling has no ids or statuses that differ between the dialects. */
export const alike = <Value>(value: Value) => ({ A: value, B: value });

export const eventTypeId = 'et_0199aaaabbbb7ccc8ddd111122223333';
export const bookingId = 'bkg_0199aaaabbbb7ccc8ddd444455556666';
export const hostId = 'hst_0199aaaabbbb7ccc8ddd777788889999';
export const patternId = 'rpt_0199aaaabbbb7ccc8dddaaaabbbbcccc';
export const blackoutId = 'blk_0199aaaabbbb7ccc8dddddddeeeeffff';
export const calendarId = 'cal_0199aaaabbbb7ccc8ddd555566667777';
export const exampleTime = '2026-11-21T09:30:00.000Z';
