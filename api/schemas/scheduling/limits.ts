import { z } from '@hono/zod-openapi';
import { findLimitProblems, maxConsecutive } from '../../../src/scheduling/core/limits.ts';
import type { BookingLimits } from '../../../src/scheduling/core/rules.ts';
import { alike, date, hostOfSetting } from './values.ts';

const maxBookings = (unit: string) =>
  z
    .int()
    .min(1)
    .max(1_000_000)
    .nullable()
    .openapi({ description: `The most bookings of an event type ${unit}. Null: no limit.` });

const fields = {
  dailyMax: maxBookings('that start on one day of the host'),
  weeklyMax: maxBookings('in one week, from Monday'),
  monthlyMax: maxBookings('in one month'),
  consecutiveMax: z.int().min(1).max(maxConsecutive).nullable().openapi({
    description: 'The most bookings of a host in a row, with pauses of at most `minGapMinutes` or their buffers.',
  }),
  minGapMinutes: z
    .int()
    .min(0)
    .max(1_440)
    .nullable()
    .openapi({ description: 'The shortest pause between two bookings of a host.' }),
};

/** An omitted limit means no limit. */
export const limitsOf = (given: { [Limit in keyof BookingLimits]?: number | null | undefined }): BookingLimits => {
  const { dailyMax = null, weeklyMax = null, monthlyMax = null, consecutiveMax = null, minGapMinutes = null } = given;
  return { dailyMax, weeklyMax, monthlyMax, consecutiveMax, minGapMinutes };
};

export const newLimitsSchema = z
  .object(fields)
  .partial()
  .extend({ hostId: hostOfSetting })
  .superRefine((given, context) => {
    for (const { path, message } of findLimitProblems(limitsOf(given))) {
      context.addIssue({ code: 'custom', path: [path], message });
    }
  })
  .openapi('NewBookingLimits', { description: 'The limit of a longer period is not below that of a shorter one.' });

export const limitsSchema = z
  .object({
    ...z.object(fields).shape,
    hostId: z.string().optional().openapi({ description: 'Present if the limits are those of one host.' }),
  })
  .openapi('BookingLimits');

export const hostOfLimits = z.object({
  hostId: z
    .string()
    .optional()
    .openapi({ param: { name: 'hostId', in: 'query' }, description: 'Without it: the limits of all hosts.' }),
});

export const limitCheckQuery = z.object({
  date: date.openapi({ param: { name: 'date', in: 'query' }, description: 'A day of the host, `YYYY-MM-DD`.' }),
  eventTypeId: z.string().openapi({ param: { name: 'eventTypeId', in: 'query' } }),
});

const left = z.int().nullable();
export const limitCheckSchema = z
  .object({
    allowed: z.boolean().openapi({ description: 'Whether the limits of day, week and month allow one more booking.' }),
    remaining: z
      .object({ daily: left, weekly: left, monthly: left, consecutive: left })
      .openapi({ description: 'Null where there is no limit.' }),
  })
  .openapi('BookingLimitCheck');

const shown = { dailyMax: 8, weeklyMax: 30, monthlyMax: null, consecutiveMax: null, minGapMinutes: 5 };
export const newLimitsExamples = alike({ dailyMax: 8, weeklyMax: 30, minGapMinutes: 5 });
export const limitsExamples = alike(shown);
export const limitCheckExamples = alike({
  allowed: true,
  remaining: { daily: 6, weekly: 21, monthly: null, consecutive: null },
});
