import { z } from '@hono/zod-openapi';
import { cronPattern, maxCronLength } from '../../../src/automation/core/cron.ts';
import { freeForm } from '../free-form.ts';
import { scheduleOptionShape } from './run-options.ts';

const cron = z.string().openapi({
  description: [
    'Five fields as in crontab(5), with lists, ranges, steps and names, or @yearly, @monthly, @weekly, @daily, @hourly. If',
    'both day of month and day of week are given, a day that matches either is used. Each value is in the range of its',
    'field, and the expression matches a day that exists.',
  ].join(' '),
});
const newCron = cron.max(maxCronLength).openapi({ pattern: cronPattern });

const timezone = z.string().openapi({
  description:
    'A name of the tz database. A local time that is skipped by a clock change starts no run; one that occurs twice starts at least one.',
});
const newTimezone = timezone.max(64).openapi({ pattern: '^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$' });

const input = z.unknown().optional().openapi({ description: 'Any JSON value. Available as {{input}} in prompts.' });

export const newScheduleSchema = z
  .object({
    cron: newCron,
    timezone: newTimezone,
    paused: z.boolean().optional().openapi({ description: 'Default false. A paused schedule starts no runs.' }),
    input,
    variables: freeForm.optional().openapi({ description: 'Values for {{name}} in prompts, of any type.' }),
    inputs: freeForm.optional().openapi({
      description: 'The variables, and the whole object as {{input}} unless `input` is given. Overrides `variables`.',
    }),
    ...scheduleOptionShape,
  })
  .openapi('NewSchedule');

export const scheduleSchema = z
  .object({
    cron,
    timezone,
    paused: z.boolean().openapi({
      description: 'A paused schedule starts no runs. Also true while an operator has it paused in Temporal.',
    }),
    input,
    variables: freeForm,
    tags: z.array(z.string()).optional().openapi({ description: 'The tags of its runs.' }),
    metadata: freeForm.optional(),
    expiresIn: z
      .number()
      .optional()
      .openapi({ description: 'The seconds after which a run that has not begun is cancelled.' }),
    priority: z.int().optional(),
    version: z.int().optional(),
    nextRunTimes: z.array(z.iso.datetime()).max(5).openapi({
      description:
        'The next five times, in UTC. A paused schedule starts no runs at them. If an operator changed the times in Temporal, these are the changed ones, while `cron` and `timezone` are as they were written.',
    }),
    lastRunAt: z.iso
      .datetime()
      .nullable()
      .openapi({ description: 'When the schedule last started a run; null before the first run.' }),
    lastSkipped: z
      .object({
        at: z.iso.datetime().openapi({ description: 'When the run was due.' }),
        reason: z.string().openapi({ description: 'A code, such as rate_limit_exceeded or workflow_inactive.' }),
      })
      .nullable()
      .openapi({ description: 'The last time at which no run was started; null if there was none.' }),
  })
  .openapi('Schedule');
export type ScheduleAnswer = z.input<typeof scheduleSchema>;

const weekdays = { cron: '0 9 * * 1-5', timezone: 'Europe/Berlin', input: 'the news', variables: { style: 'plain' } };
const withText = { ...weekdays, variables: { text: 'The news of the day.', style: 'plain' } };
export const newScheduleExamples = { A: weekdays, B: withText };

const shown = {
  paused: false,
  nextRunTimes: [23, 24, 25, 26, 27].map((day) => `2026-11-${day}T08:00:00.000Z`),
  lastRunAt: null,
  lastSkipped: null,
};
export const scheduleExamples = { A: { ...weekdays, ...shown }, B: { ...withText, ...shown } };
