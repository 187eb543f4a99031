import { z } from '@hono/zod-openapi';
import {
  modelErrorCodes,
  type RunStatus,
  runErrorCodes,
  runStates,
  runStatuses,
  stepStates,
} from '../../../src/automation/core/run-status.ts';
import { stepIdPattern } from '../../../src/automation/core/steps.ts';
import { retryDefinitions } from '../../../src/automation/runs/retry-run.ts';
import { describeStates } from '../../../src/platform/core/states.ts';
import { freeForm } from '../free-form.ts';
import { inDialect, orNull } from '../in-dialect.ts';
import { flatPage, paginationSchema } from '../pagination.ts';
import { metadata, runOptionShape, startAt, startedShape, tags } from './run-options.ts';

export const executeSchema = z
  .object({
    input: z.unknown().optional().openapi({ description: 'Any JSON value. Available as {{input}} in prompts.' }),
    variables: freeForm.optional().openapi({ description: 'Values for {{variableName}} in prompts, of any type.' }),
    inputs: freeForm.optional().openapi({
      description:
        'Dialect B: the variables, of any type. The whole object is available as {{input}}. Required in dialect B unless `input` or `variables` is given.',
    }),
    async: z.boolean().optional().openapi({
      description: 'Whether to return before the run has ended. Default false in dialect A, true in dialect B.',
    }),
    ...runOptionShape,
  })
  .openapi('WorkflowExecution');
export type ExecuteBody = z.output<typeof executeSchema>;
export type ExecutionExample = z.input<typeof executeSchema>;

const statusWordsA = {
  queued: 'PENDING',
  running: 'RUNNING',
  completed: 'COMPLETED',
  failed: 'FAILED',
  cancelled: 'CANCELLED',
} as const satisfies Record<RunStatus, string>;

/** A run's status as dialect A writes it. */
export const statusInA = (status: RunStatus) => statusWordsA[status];

const statusA = z.enum(runStatuses.map(statusInA)).openapi({ description: describeStates(runStates, statusInA) });
const statusB = z.enum(runStatuses).openapi({ description: describeStates(runStates) });

const output = z.object({ result: z.unknown(), steps: z.record(z.string(), z.unknown()) }).openapi('RunOutput', {
  description:
    'Outputs of more than 256 KiB, the result too, are replaced by `{$ref, bytes}`: retrieve them with `GET $ref`. `bytes` is the size as JSON. In an answer of more than 2 MiB the largest ones are replaced, until it fits.',
});

const runError = z
  .object({
    stepId: z.string().optional(),
    message: z.string(),
    code: z.string().openapi({
      description: `One of ${runErrorCodes.map((code) => `\`${code}\``).join(', ')}; or the \`code\` of a step of type \`fail\`.`,
      examples: ['service_unavailable'],
    }),
    details: z.record(z.string(), z.unknown()).optional().openapi({ description: 'More facts about the failure.' }),
  })
  .openapi('RunError');

const input = z.object({ input: z.unknown(), variables: z.record(z.string(), z.unknown()) });

const runA = {
  id: z.uuid(),
  status: statusA,
  input: input.nullable().openapi({
    description: 'An input, or variables, of more than 256 KiB are replaced by `{$ref, bytes}`.',
  }),
  output: orNull(output),
  error: z.string().nullable(),
  tokensUsed: z.int().nullable(),
  durationMs: z.int().nullable(),
  createdAt: z.iso.datetime(),
  ...startedShape,
};

const time = z.iso.datetime().optional();
const runB = {
  runId: z.string(),
  workflowId: z.string(),
  status: statusB,
  progress: z.number().min(0).max(100),
  currentStep: z.string().optional(),
  startedAt: time,
  completedAt: time,
  failedAt: time,
  cancelledAt: time,
  duration: z.int().optional(),
  output: output.optional(),
  error: runError.optional(),
  ...startedShape,
};

const stepStatus = z.enum(stepStates.all).openapi({ description: describeStates(stepStates) });
const warnings = z
  .array(z.object({ code: z.string(), name: z.string() }))
  .openapi({ description: 'The first 20 warnings of the step.' });
const warningsTotal = z.int().openapi({ description: 'The number of warnings of the step.' });

const models = z
  .array(
    z
      .object({
        provider: z.string(),
        model: z.string(),
        error: z.object({ code: z.enum(modelErrorCodes), message: z.string() }).optional(),
      })
      .openapi('StepModelCall'),
  )
  .optional()
  .openapi({ description: 'Present when a fallback was called: every model of the last attempt, and why it failed.' });

const toolCalls = z
  .array(
    z
      .object({
        name: z.string(),
        args: orNull(freeForm),
        result: z.string().nullable(),
      })
      .openapi('StepToolCall'),
  )
  .optional()
  .openapi({
    description:
      'Present when tools were called: every call of this run, in order. `result` is null while a call is under way, and when its run ended before it did. Of arguments and results the first 256 KiB of a run are included; null is in the place of others, and of arguments of more than 32 KiB.',
  });

const placeShape = {
  path: z
    .array(z.union([z.string(), z.int()]))
    .optional()
    .openapi({
      description: 'The position of a step within others: ids and indexes from the top, as `["each", 3, "ask"]`.',
    }),
  counts: z
    .object({ total: z.int(), succeeded: z.int(), failed: z.int() })
    .optional()
    .openapi({ description: 'How the branches or items of a step of type parallel or map ended.' }),
};

const stepA = z
  .object({
    stepId: z.string(),
    name: z.string(),
    ...placeShape,
    status: stepStatus,
    attempts: z.int(),
    output: z.unknown(),
    error: orNull(runError),
    provider: z.string().nullable(),
    model: z.string().nullable(),
    tokensUsed: z.int().nullable(),
    durationMs: z.int().nullable(),
    models,
    toolCalls,
    warnings,
    warningsTotal,
  })
  .openapi('RunStepA');

const stepB = z
  .object({
    stepId: z.string(),
    name: z.string(),
    ...placeShape,
    status: stepStatus,
    attempts: z.int(),
    duration: z.int().optional(),
    output: z.unknown().optional(),
    provider: z.string().optional(),
    model: z.string().optional(),
    tokensUsed: z.int().optional(),
    models,
    toolCalls,
    warnings,
    warningsTotal,
    error: runError.optional(),
  })
  .openapi('RunStepB');

const summaryA = inDialect('RunA', 'id', runA);
const summaryB = inDialect('RunB', 'runId', runB);

export const runDetailSchema = z.union([
  inDialect('RunDetailA', 'id', { ...runA, workflowId: z.uuid(), workflowName: z.string(), steps: z.array(stepA) }),
  inDialect('RunDetailB', 'runId', { ...runB, stepResults: z.array(stepB) }),
]);
export const runListSchema = z.union([
  inDialect('RunListA', 'pagination', { runs: z.array(summaryA), pagination: paginationSchema }),
  inDialect('RunListB', 'total', { runs: z.array(summaryB), ...flatPage }),
]);

export const stepListSchema = z.union([
  inDialect('RunStepListA', 'pagination', { steps: z.array(stepA), pagination: paginationSchema }),
  inDialect('RunStepListB', 'total', { stepResults: z.array(stepB), ...flatPage }),
]);
export type StepListAnswer = z.input<typeof stepListSchema>;

const totalIsExact = z
  .literal(false)
  .optional()
  .openapi({ description: 'Present where there are more: a total is counted up to 10,000.' });
const nextCursor = z.string().nullable().openapi({
  description: 'Send it as `after` for the next page; null at the end. A page may be short before the end.',
});
const foundA = z
  .object({ ...runA, workflowId: z.uuid(), workflowName: z.string() })
  .openapi('FoundRunA', { description: 'Dialect A, recognized by `id`.' });
export const runSearchSchema = z.union([
  inDialect('FoundRunsA', 'pagination', {
    runs: z.array(foundA),
    pagination: z
      .object({ total: z.int(), limit: z.int(), offset: z.int(), hasMore: z.boolean(), totalIsExact, nextCursor })
      .openapi('CursorPagination'),
  }),
  inDialect('FoundRunsB', 'total', { runs: z.array(summaryB), ...flatPage, totalIsExact, nextCursor }),
]);
export type RunSearchAnswer = z.input<typeof runSearchSchema>;

const executedA = inDialect('ExecutedRunA', 'durationMs', {
  runId: z.uuid(),
  status: statusA,
  output: z.string().nullable(),
  tokensUsed: z.int().nullable(),
  durationMs: z.int().nullable(),
});
const executedB = inDialect('ExecutedRunB', 'duration', {
  runId: z.string(),
  workflowId: z.string(),
  status: statusB,
  duration: z.int().nullable(),
  output: orNull(output),
});
const acceptedA = inDialect('AcceptedRunA', 'status', { runId: z.uuid(), status: z.enum(['RUNNING', 'PENDING']) });
const acceptedB = inDialect('AcceptedRunB', 'status', {
  runId: z.string(),
  workflowId: z.string(),
  status: z.enum(['running', 'queued']),
  message: z.string(),
});
const triggeredB = inDialect('TriggeredRunB', 'status', { runId: z.string(), status: z.enum(['running', 'queued']) });

const noRun = 'No run was started: as many runs of the workflow run as its `concurrency` allows, and it skips others.';
const reason = z.literal('concurrency');
const skippedA = inDialect('SkippedRunA', 'status', {
  runId: z.null(),
  status: z.literal('SKIPPED').openapi({ description: noRun }),
  reason: reason.optional(),
});
const skippedB = inDialect('SkippedRunB', 'status', {
  runId: z.null(),
  status: z.literal('skipped').openapi({ description: noRun }),
  reason: reason.optional(),
});

/** A change of a run that was started. */
export const runChangeSchema = z
  .object({
    startAt: startAt.optional(),
    tags: tags.optional(),
    metadata: orNull(metadata).optional(),
  })
  .openapi('RunChange');

export const retrySchema = z
  .object({
    fromStep: z.string().optional().openapi({
      pattern: stepIdPattern.source,
      description:
        'The id of a step of the run, or of the current definition, to start from. Default: the first step that did not complete. Required for a run that completed.',
    }),
    path: z
      .union([
        z
          .string()
          .min(1)
          .max(400)
          .regex(/^[A-Za-z0-9_.-]+$/, 'Expected a dotted path.'),
        z
          .array(
            z.union([
              z
                .string()
                .max(64)
                .regex(/^[A-Za-z0-9_-]+$/, 'Expected an id.'),
              z.int().min(0).max(999),
            ]),
          )
          .min(1)
          .max(7),
      ])
      .optional()
      .openapi({
        description:
          'Where the step stands, if it is within others: the ids and indexes from the top, as a list or dotted, such as `["each", 3, "ask"]` or `each.3.ask`. The last id is `fromStep`. Items and branches that completed, and the finished steps before it, are reused; the rest of its container is executed anew.',
        example: 'summarize',
      }),
    definition: z.enum(retryDefinitions).optional().openapi({
      description:
        'The definition to run: `pinned`, that of the run (the default), or `current`, the current one of the workflow.',
    }),
  })
  .openapi('RunRetry', {
    description: 'Where to begin, and with which definition. `path` needs `fromStep`, which is a step of the run.',
  });

export const runInputSchema = input.openapi('RunInput');
export const stepOutputSchema = z.object({ stepId: z.string(), output: z.unknown() }).openapi('StepOutput');

export const acceptedSchema = z.union([acceptedA, acceptedB]);
export const triggeredSchema = z.union([acceptedA, triggeredB, skippedA, skippedB]);
export const executedSchema = z.union([executedA, executedB, acceptedA, acceptedB, skippedA, skippedB]);

export type RunDetailAnswer = z.input<typeof runDetailSchema>;
export type RunListAnswer = z.input<typeof runListSchema>;
export type ExecutedAnswer = z.input<typeof executedA> | z.input<typeof executedB>;
export type AcceptedAnswer = z.input<typeof acceptedSchema>;
export type TriggeredAnswer = z.input<typeof triggeredSchema>;
export type SkippedAnswer = z.input<typeof skippedA> | z.input<typeof skippedB>;
