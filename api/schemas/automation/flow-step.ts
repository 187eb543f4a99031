// The steps that only flows have, as they are sent.
import { z } from '@hono/zod-openapi';
import { isDurationWithin } from '../../../src/automation/core/check-steps.ts';
import { durationForms } from '../../../src/automation/core/duration.ts';
import { maxEventNameLength } from '../../../src/automation/core/event-names.ts';
import { maxSourceLength } from '../../../src/automation/core/expression.ts';
import { errorCodePattern } from '../../../src/automation/core/run-status.ts';
import {
  branchCount,
  containerConcurrency,
  containerModes,
  httpMethods,
  maxLookBackSeconds,
  maxTimeoutSeconds,
  maxWaitSeconds,
} from '../../../src/automation/core/step-types.ts';
import { maxSteps, type Step, stepIdPattern } from '../../../src/automation/core/steps.ts';
import { freeForm, texts } from '../free-form.ts';
import { filledText, text } from '../text.ts';
import { featureStepSchemas } from './feature-step.ts';
import { retry } from './retry.ts';
import { idProblem, stepFields } from './step-fields.ts';

const duration = (maxSeconds: number, description: string) =>
  z
    .union([z.number(), z.string()])
    .refine(
      (value) => isDurationWithin(value, maxSeconds),
      `Expected ${durationForms}, of at most ${maxSeconds / 86_400} days.`,
    )
    .openapi({
      anyOf: [
        { type: 'number', minimum: 0, maximum: maxSeconds },
        { type: 'string', example: 'PT36H' },
      ],
      description: `${description} A duration is ${durationForms}; at most ${maxSeconds / 86_400} days.`,
    });

const expression = (description: string) =>
  z.string().min(1, 'Expected an expression.').openapi({ minLength: 1, maxLength: maxSourceLength, description });

/**
 * Lists of steps in steps. The reference describes their members separately from the list itself, which would have no
 * end.
 */
const innerSteps = (anyStep: () => z.ZodType<Step>) =>
  z
    .array(z.lazy(anyStep))
    .min(1, 'Expected at least one step.')
    .max(maxSteps, `Expected at most ${maxSteps} steps.`)
    .openapi({
      type: 'array',
      minItems: 1,
      maxItems: maxSteps,
      items: { type: 'object' },
      description:
        'Steps of any type, executed in this order. They see the outputs of the steps before them, and of those before the container.',
    });

const containerFields = {
  mode: z.enum(containerModes).optional().openapi({
    description:
      '`fail_fast` (the default): the first failure cancels what runs, and the step fails with it. `settled`: everything runs, and failures are in the results.',
  }),
  concurrency: z
    .int()
    .min(1)
    .max(containerConcurrency.max)
    .optional()
    .openapi({ description: `How many run at the same time. Default: ${containerConcurrency.byDefault}.` }),
};

const values = (description: string) => freeForm.optional().openapi({ description });
const wholeValues = 'Strings are templates; one that is exactly one placeholder becomes the value with its type.';

/** The schemas of the steps of flows. @param anyStep the schema of every step, for the lists in containers */
export const flowStepSchemas = (anyStep: () => z.ZodType<Step>) =>
  [
    z
      .object({
        ...stepFields,
        type: z.literal('parallel'),
        branches: z
          .array(
            z.object({
              id: z.string().regex(stepIdPattern, idProblem).openapi({ description: 'Unique in the step.' }),
              name: text(200).optional(),
              steps: innerSteps(anyStep),
            }),
          )
          .min(branchCount.min)
          .max(branchCount.max),
        ...containerFields,
      })
      .openapi('ParallelStepInput', {
        description:
          'Executes branches side by side. Its output is `{results: {<branch id>: Result}, total, succeeded, failed}`.',
      }),
    z
      .object({
        ...stepFields,
        type: z.literal('map'),
        items: expression('A CEL expression whose value is a list of at most 1,000 items.'),
        steps: innerSteps(anyStep),
        ...containerFields,
      })
      .openapi('MapStepInput', {
        description:
          'Executes its steps once for each item, which they see as `item`, `index` and `total`. Its output is `{results: [Result], outputs, total, succeeded, failed}`.',
      }),
    z
      .object({
        ...stepFields,
        type: z.literal('wait'),
        for: duration(maxWaitSeconds, 'How long the step waits.').optional(),
        until: text(1_000)
          .optional()
          .openapi({ description: 'A template for the time until which it waits: RFC 3339 with an offset.' }),
      })
      .openapi('WaitStepInput', {
        description: 'Waits. It has exactly one of `for` and `until`. Its output is `{until}`.',
      }),
    z
      .object({
        ...stepFields,
        type: z.literal('event'),
        event: z
          .string()
          .regex(/^[a-z0-9_]+(\.[a-z0-9_]+){0,4}$/, 'Expected the name of an event, as order.paid.')
          .max(maxEventNameLength),
        match: expression(
          'A CEL expression over event, input, variables and steps. Only an event for which it is true ends the wait.',
        ).optional(),
        timeout: duration(maxTimeoutSeconds, 'How long the step waits. Default: `P7D`.').optional(),
        onTimeout: z
          .enum(['fail', 'continue'])
          .optional()
          .openapi({ description: 'With `continue` the output after a timeout is null. Default: `fail`.' }),
        lookBack: z
          .number()
          .min(0)
          .max(maxLookBackSeconds)
          .optional()
          .openapi({ description: 'Seconds before the step began in which the event may have arrived. Default: 0.' }),
      })
      .openapi('EventStepInput', { description: 'Waits for an event. Its output is `{id, type, data, receivedAt}`.' }),
    z
      .object({
        ...stepFields,
        type: z.literal('approval'),
        message: filledText(10_000).openapi({ description: 'A template: what is asked.' }),
        actions: z
          .array(
            z.object({
              id: z.string().regex(stepIdPattern, idProblem),
              label: filledText(100),
              skipForm: z.boolean().optional().openapi({ description: 'The answer takes no values.' }),
            }),
          )
          .min(1)
          .max(5)
          .optional()
          .openapi({ description: 'Default: `approve`, and `reject`, which takes no values.' }),
        form: values('A JSON Schema: an object of at most 16 properties that are texts, numbers or booleans.'),
        approvers: z
          .array(filledText(1_000))
          .max(20)
          .optional()
          .openapi({ description: 'Templates of the e-mail addresses that are asked.' }),
        timeout: duration(maxTimeoutSeconds, 'How long the step waits. Default: `PT72H`.').optional(),
        onTimeout: z.string().optional().openapi({
          pattern: stepIdPattern.source,
          description: '`fail` (the default), or the id of the action that a timeout takes.',
        }),
      })
      .openapi('ApprovalStepInput', {
        description:
          'Waits for the answer of a person. Its output is `{action, values, comment, respondedBy, respondedAt, channel}`.',
      }),
    z
      .object({
        ...stepFields,
        type: z.literal('workflow'),
        workflowId: filledText(100).openapi({ description: 'The workflow that is executed. No template.' }),
        input: z
          .unknown()
          .optional()
          .openapi({ description: `The input of the run. ${wholeValues}` }),
        variables: values(`The variables of the run. ${wholeValues}`),
        mode: z.enum(['wait', 'detach']).optional().openapi({
          description: '`wait` (the default): the output is the result of the run. `detach`: it is `{runId}`, at once.',
        }),
        version: z.int().min(1).optional(),
      })
      .openapi('WorkflowCallStepInput', { description: 'Executes another workflow, as a run of its own.' }),
    z
      .object({
        ...stepFields,
        type: z.literal('http'),
        method: z.enum(httpMethods).optional().openapi({ description: 'Default: GET.' }),
        url: filledText(8_000).openapi({
          description: 'A template. With `secretHeaders` its scheme, host and port hold no placeholder.',
        }),
        query: values(`Added to the URL. ${wholeValues}`),
        headers: values(`At most 50. ${wholeValues}`),
        body: z
          .unknown()
          .optional()
          .openapi({
            description: `Sent as JSON; a string is sent as it is. ${wholeValues}`,
          }),
        secretHeaders: texts.optional().openapi({ description: 'Names of secrets by header, at most 10.' }),
        timeoutSeconds: z.number().min(1).max(120).optional().openapi({ description: 'Default: 30.' }),
        successStatus: z
          .array(z.union([z.int(), z.string()]))
          .min(1)
          .max(20)
          .optional()
          .openapi({ description: 'Codes such as 201, or classes such as `2xx`. Default: `["2xx"]`.' }),
        retry: retry.optional().openapi({
          description:
            'Attempts in all. Default: 3 for methods that may be repeated; POST and PATCH are repeated only when it is given.',
        }),
      })
      .openapi('HttpStepInput', { description: 'Sends a request. Its output is `{status, headers, body}`.' }),
    z
      .object({
        ...stepFields,
        type: z.literal('fail'),
        message: filledText(2_000).openapi({ description: 'A template.' }),
        code: z
          .string()
          .regex(errorCodePattern, 'Expected up to 64 lower-case letters, digits and underscores.')
          .optional()
          .openapi({ description: 'Default: `failed_by_step`.' }),
      })
      .openapi('FailStepInput', { description: 'Fails the run, or the branch or item that it stands in.' }),
    ...featureStepSchemas,
  ] as const;
