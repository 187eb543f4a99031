import { z } from '@hono/zod-openapi';
import {
  type RunStatus,
  runErrorCodes,
  runStates,
  runStatuses,
  stepStates,
} from '../../../src/automation/core/run-status.ts';
import { describeStates } from '../../../src/platform/core/states.ts';
import { freeForm, texts } from '../free-form.ts';
import { flatPage, paginationSchema } from '../pagination.ts';

export const executeSchema = z
  .object({
    input: z.unknown().optional().openapi({ description: 'Any JSON value. Available as {{input}} in prompts.' }),
    variables: texts.optional().openapi({ description: 'Strings for {{variableName}} in prompts.' }),
    inputs: freeForm
      .optional()
      .openapi({ description: 'Dialect B: the variables, of any type. The whole object is available as {{input}}.' }),
    async: z.boolean().optional().openapi({
      description: 'Whether to return before the run has ended. Default false in dialect A, true in dialect B.',
    }),
  })
  .openapi('Execution');
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
  description: 'Large outputs are replaced by `{$ref, bytes}`. Retrieve them with `GET $ref`.',
});

const runErrorB = z
  .object({ stepId: z.string().optional(), message: z.string(), code: z.enum(runErrorCodes) })
  .openapi('RunError');

const runA = {
  id: z.uuid(),
  status: statusA,
  input: z.object({ input: z.unknown(), variables: z.record(z.string(), z.unknown()) }).nullable(),
  output: output.nullable(),
  error: z.string().nullable(),
  tokensUsed: z.int().nullable(),
  durationMs: z.int().nullable(),
  createdAt: z.iso.datetime(),
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
  error: runErrorB.optional(),
};

const stepResult = z
  .object({
    stepId: z.string(),
    name: z.string(),
    status: z.enum(stepStates.all).openapi({ description: describeStates(stepStates) }),
    attempts: z.int(),
    duration: z.int().optional(),
    output: z.unknown().optional(),
    provider: z.string().optional(),
    model: z.string().optional(),
    tokensUsed: z.int().optional(),
    warnings: z.array(z.object({ code: z.string(), name: z.string() })),
    error: runErrorB.optional(),
  })
  .openapi('StepResult');

const summaryA = z.object(runA).openapi('RunA');
const summaryB = z.object(runB).openapi('RunB');

export const runDetailSchema = z.union([
  z.object({ ...runA, workflowId: z.uuid(), workflowName: z.string() }).openapi('RunDetailA'),
  z.object({ ...runB, stepResults: z.array(stepResult) }).openapi('RunDetailB'),
]);
export const runListSchema = z.union([
  z.object({ runs: z.array(summaryA), pagination: paginationSchema }),
  z.object({ runs: z.array(summaryB), ...flatPage }),
]);

const executedA = z
  .object({
    runId: z.uuid(),
    status: statusA,
    output: z.string().nullable(),
    tokensUsed: z.int().nullable(),
    durationMs: z.int().nullable(),
  })
  .openapi('ExecutedA');
const executedB = z
  .object({
    runId: z.string(),
    workflowId: z.string(),
    status: statusB,
    duration: z.int().nullable(),
    output: output.nullable(),
  })
  .openapi('ExecutedB');
const acceptedA = z.object({ runId: z.uuid(), status: z.literal('RUNNING') }).openapi('AcceptedA');
const acceptedB = z
  .object({ runId: z.string(), workflowId: z.string(), status: z.literal('running'), message: z.string() })
  .openapi('AcceptedB');

export const retrySchema = z
  .object({
    fromStep: z
      .string()
      .optional()
      .openapi({ description: 'The id of the step to start from. Default: the first step that did not complete.' }),
  })
  .openapi('Retry');

export const stepOutputSchema = z.object({ stepId: z.string(), output: z.unknown() }).openapi('StepOutput');

export const acceptedSchema = z.union([acceptedA, acceptedB]);
export const executedSchema = z.union([executedA, executedB, acceptedA, acceptedB]);

export type RunDetailAnswer = z.input<typeof runDetailSchema>;
export type RunListAnswer = z.input<typeof runListSchema>;
export type ExecutedAnswer = z.input<typeof executedA> | z.input<typeof executedB>;
export type AcceptedAnswer = z.input<typeof acceptedSchema>;
