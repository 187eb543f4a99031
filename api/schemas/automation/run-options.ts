import { z } from '@hono/zod-openapi';
import { durationForms, readDuration } from '../../../src/automation/core/duration.ts';
import { maxDelayMs, maxMetadataBytes, maxTags, tagPattern } from '../../../src/automation/core/starts.ts';
import type { RunOptions } from '../../../src/automation/runs/insert-run.ts';
import { clock } from '../../../src/platform/clock.ts';
import { type FieldError, invalid } from '../../../src/platform/errors.ts';
import { freeForm } from '../free-form.ts';

const days = maxDelayMs / 86_400_000;

/** Reads a duration into milliseconds. */
const duration = (description: string) =>
  z
    .union([z.number(), z.string()])
    .transform((value, context) => {
      const ms = readDuration(value);
      if (ms !== undefined && ms <= maxDelayMs) return ms;
      context.addIssue({ code: 'custom', message: `Expected ${durationForms}, of at most ${days} days.` });
      return z.NEVER;
    })
    .openapi({
      anyOf: [{ type: 'number', minimum: 0, maximum: maxDelayMs / 1_000, multipleOf: 0.001 }, { type: 'string' }],
      description: `${description} A duration: ${durationForms}; at most ${days} days.`,
    });

const instant = z.iso.datetime({ offset: true }).transform((text) => new Date(text));

const inTime = (at: Date) => at.getTime() - clock.now() <= maxDelayMs;

const tag = z.string().regex(tagPattern, 'Expected up to 64 letters, digits and . _ : / -');

export const tags = z.array(tag).max(maxTags).openapi({ description: '`GET /runs` finds the run by its tags.' });

export const metadata = freeForm
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= maxMetadataBytes, 'Expected at most 16 KiB as JSON.')
  .openapi({ description: 'Any value of at most 16 KiB as JSON. The run returns it, and steps do not see it.' });

export const startAt = instant.refine(inTime, `Expected a time within ${days} days.`).openapi({
  type: 'string',
  format: 'date-time',
  description: `When the run begins, within ${days} days. A time in the past is now.`,
});

const expiresIn = duration(
  'The run is cancelled with the code `expired` when it has not begun by then, counted from its creation or from `scheduledFor`.',
);
const priority = z.int().min(1).max(5).openapi({
  description: 'Runs of the organization that wait to begin do so by priority: 1 is first, 3 the default.',
});

const maxVersion = 2_000_000_000;
const version = z.int().min(1).max(maxVersion).openapi({
  description: 'A version that the workflow has. Default: the current one when the run is created.',
});

/** What `execute` takes, and what starts runs in the same way. */
export const runOptionShape = {
  tags: tags.optional(),
  metadata: metadata.optional(),
  delay: duration('How long the run waits before it begins. Not with `startAt`.').optional(),
  startAt: startAt.optional(),
  expiresIn: expiresIn.optional(),
  priority: priority.optional(),
  version: version.optional(),
};

/** The options of a schedule for its runs. */
export const scheduleOptionShape = {
  tags: runOptionShape.tags,
  metadata: runOptionShape.metadata,
  expiresIn: runOptionShape.expiresIn,
  priority: runOptionShape.priority,
  version: runOptionShape.version,
};

interface RunOptionFields {
  tags?: string[] | undefined;
  metadata?: Record<string, unknown> | undefined;
  delay?: number | undefined;
  startAt?: Date | undefined;
  expiresIn?: number | undefined;
  priority?: number | undefined;
  version?: number | undefined;
}

/** @returns undefined where none is given @throws AppError validation_error with both `delay` and `startAt` */
export function readRunOptions({ delay, expiresIn, tags: given, ...fields }: RunOptionFields): RunOptions | undefined {
  const options: RunOptions = {
    tags: given && [...new Set(given)],
    metadata: fields.metadata,
    delayMs: delay,
    startAt: fields.startAt,
    expiresInMs: expiresIn,
    priority: fields.priority,
    version: fields.version,
  };
  if (delay !== undefined && fields.startAt !== undefined) {
    throw invalid([{ path: 'delay', message: 'Give delay or startAt.' } satisfies FieldError]);
  }
  return Object.values(options).some((value) => value !== undefined) ? options : undefined;
}

const parts = (text: string) => text.split(',').filter((part) => part !== '');

/** The options of a trigger in its query, because its body contains only the variables. */
export const triggerOptionQuery = z.object({
  tags: z
    .string()
    .transform(parts)
    .pipe(tags)
    .optional()
    .openapi({ type: 'string', description: 'Tags of the run, separated by commas. Needs an API key.' }),
  delay: runOptionShape.delay.openapi({ description: 'The same as in `execute`. Needs an API key.' }),
  startAt: runOptionShape.startAt,
  expiresIn: runOptionShape.expiresIn,
  priority: z
    .enum(['1', '2', '3', '4', '5'])
    .transform(Number)
    .optional()
    .openapi({ type: 'integer', minimum: 1, maximum: 5, description: 'The same as in `execute`. Needs an API key.' }),
  version: z
    .string()
    .regex(/^[1-9]\d{0,8}$/, 'Expected the number of a version.')
    .transform(Number)
    .optional()
    .openapi({ type: 'integer', minimum: 1, description: 'The same as in `execute`. Needs an API key.' }),
});

const waitsToBegin = ['delay', 'concurrency', 'paused', 'plan'] as const;

/** The wait of a step, in runs and in their events. */
const waitShape = {
  type: z.enum(['wait', 'event', 'approval', 'workflow', 'slot']).openapi({
    description: '`slot`: it begins when the plan, or the concurrency of its workflow, has a free slot.',
  }),
  stepId: z.string(),
  path: z
    .array(z.union([z.string(), z.int()]))
    .optional()
    .openapi({ description: 'The position of a step within others.' }),
  since: z.iso.datetime(),
  until: z.iso.datetime().optional().openapi({ description: 'When the wait ends by itself.' }),
  approvalId: z.string().optional(),
  runId: z.string().optional().openapi({ description: 'The run that a step of type `workflow` waits for.' }),
};

/** The start of a run, in lists and details. Members without a value are absent. */
export const startedShape = {
  version: z.int().openapi({ description: 'The version of its workflow that it executes.' }),
  triggeredBy: z
    .object({
      type: z.enum(['api', 'schedule', 'webhook', 'event', 'workflow', 'batch']),
      dueAt: z.iso.datetime().optional(),
      eventId: z.string().optional(),
      event: z.string().optional(),
      runId: z.string().optional(),
      stepId: z.string().optional(),
      batchId: z.string().optional(),
    })
    .openapi('TriggeredBy', { description: 'What started the run.' }),
  tags: z.array(z.string()).optional(),
  metadata: freeForm.optional(),
  parentRunId: z.string().optional().openapi({ description: 'The run whose step started this one.' }),
  rootRunId: z.string().optional().openapi({
    description: 'The first run of the chain of runs that led to this one. The first run itself has none.',
  }),
  batchId: z.string().optional(),
  isTest: z.literal(true).optional().openapi({ description: 'A test run.' }),
  priority: z.int().optional(),
  scheduledFor: z.iso.datetime().optional().openapi({ description: 'When its delay ends, or ended.' }),
  expiresAt: z.iso.datetime().optional(),
  queuedFor: z.enum(waitsToBegin).optional().openapi({
    description:
      'Why a queued run has not begun: its delay, the concurrency or the pause of its workflow, or the plan, which allows no more runs to call out at the same time.',
  }),
  waitingFor: z
    .array(z.object(waitShape).openapi('RunWait'))
    .optional()
    .openapi({ description: 'Present while all open steps of a running run wait: the first 10 of them.' }),
};
