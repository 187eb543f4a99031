import type { z } from '@hono/zod-openapi';
import type { NewTrigger } from '../../../src/automation/events/triggers.ts';
import type { NewSchedule } from '../../../src/automation/schedules/schedules.ts';
import type { triggersSchema } from './event.ts';
import type { newScheduleSchema } from './schedule.ts';

/** The schedule as sent, with the published defaults. */
export function readSchedule(body: z.output<typeof newScheduleSchema>): NewSchedule {
  const { cron, timezone, paused = false, inputs, input = inputs ?? null, variables = {} } = body;
  return {
    cron,
    timezone,
    paused,
    input,
    variables: inputs ?? variables,
    tags: body.tags ?? null,
    metadata: body.metadata ?? null,
    expiresInMs: body.expiresIn ?? null,
    priority: body.priority ?? null,
    version: body.version ?? null,
  };
}

/** The triggers as sent. */
export const readTriggers = ({ triggers }: z.output<typeof triggersSchema>): NewTrigger[] =>
  triggers.map(({ event, filter, inputs }) => ({ event, filter: filter ?? undefined, inputs: inputs ?? undefined }));
