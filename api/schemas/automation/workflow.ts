import { z } from '@hono/zod-openapi';
import { automationStates, automationStateTable } from '../../../src/automation/core/automation-state.ts';
import { maxSourceLength } from '../../../src/automation/core/expression.ts';
import { inputTypes } from '../../../src/automation/core/inputs.ts';
import { maxToolWorkflows, toolNamePattern } from '../../../src/automation/core/mcp-tools.ts';
import { concurrencyStrategies, maxRunSeconds } from '../../../src/automation/core/starts.ts';
import { workflowWarningCodes } from '../../../src/automation/core/step-references.ts';
import { flowStepTypes, isFeatureType } from '../../../src/automation/core/step-types.ts';
import { endOfRun, maxSteps, providers, type Step, stepIdPattern } from '../../../src/automation/core/steps.ts';
import { describeStates } from '../../../src/platform/core/states.ts';
import { catalog } from '../../../src/services.ts';
import { maxServers } from '../../../src/tools/core/server-ids.ts';
import { freeForm } from '../free-form.ts';
import { inDialect, orNull } from '../in-dialect.ts';
import { flatPage, paginationSchema } from '../pagination.ts';
import { filledText, nameText, text } from '../text.ts';
import { componentOf } from './feature-step.ts';
import { flowStepSchemas } from './flow-step.ts';
import { readStep } from './read-step.ts';
import { retry } from './retry.ts';

const modelName = filledText(200, 'Expected a model name.');

export const modelChoice = z.object({ provider: z.enum(providers), model: modelName });

const actionName = filledText(100, 'Expected a name.');

const stepFields = {
  name: text(200).optional(),
  prompt: z
    .string()
    .optional()
    .openapi({ description: 'A template with {{input}}, {{name}} and {{steps.<id>.output}}.' }),
  expression: z.string().optional().openapi({
    maxLength: maxSourceLength,
    description:
      'Required for conditions and transforms: a valid CEL expression over input, variables and steps.<id>.output, which may take 250 ms. May be given in prompt instead.',
  }),
  then: z.string().optional().openapi({
    pattern: stepIdPattern.source,
    description: 'For conditions: where to continue if true, the id of a later step or end. Default: the next step.',
  }),
  else: z.string().optional().openapi({
    pattern: stepIdPattern.source,
    description: 'For conditions: where to continue if false, the id of a later step or end (the default).',
  }),
  provider: z.enum(providers).optional(),
  model: modelName.optional(),
  system: z.string().optional(),
  temperature: z.number().min(0).max(1).optional(),
  maxTokens: z.int().min(1).max(1_000_000).optional(),
  outputSchema: freeForm.optional().openapi({
    description:
      'A valid JSON Schema that the output must match. At most 64 KiB, 500 subschemas, depth 16, references within the schema, and 2,000 characters of patterns.',
  }),
  retry: retry.optional().openapi({
    description:
      'How often the step is tried in all. A prompt after temporary failures, five times by default; an action where its integration is limited, once by default.',
  }),
  fallback: z
    .array(modelChoice)
    .max(5)
    .optional()
    .openapi({ description: 'Models to try in turn when the model fails.' }),
  integration: actionName
    .optional()
    .openapi({ description: 'Required for actions: a valid id of an integration, as `slack`.' }),
  action: actionName
    .optional()
    .openapi({ description: 'Required for actions: a valid id of an action of the integration, as `send_message`.' }),
  payload: freeForm.optional().openapi({
    description:
      'Required for actions: a valid payload of the action. Its strings are templates; what depends on them is checked when the step is executed.',
  }),
  tools: z.array(z.string().min(1).max(100)).max(maxServers).optional().openapi({
    description:
      'For prompts: ids of tool servers whose tools the model may call, and `integration:<id>` for the actions of a connected integration, as in chat. Test keys have all of them; a live key those that are configured.',
  }),
};

/** The fields of a step as it is sent. */
export const stepShape = {
  id: z
    .string()
    .regex(stepIdPattern, 'Expected a letter or underscore and up to 63 letters, digits, underscores or hyphens.')
    .refine((id) => id !== endOfRun, 'Conditions use "end" for the end of the run. Choose another id.')
    .openapi({ description: 'Unique in the workflow, and not `end`.' }),
  type: z.enum(['prompt', 'ai_chat', 'condition', 'transform', 'action']),
  ...stepFields,
};

/** @returns the names of fields that a step of type `action` lacks */
const missingOfAction = (step: { type: string; integration?: unknown; action?: unknown; payload?: unknown }) =>
  step.type === 'action'
    ? (['integration', 'action', 'payload'] as const).filter((name) => step[name] === undefined)
    : [];

const stepInput = z
  .object(stepShape)
  .superRefine((step, context) => {
    for (const name of missingOfAction(step)) {
      context.addIssue({ code: 'custom', path: [name], message: 'Required for steps of type action.' });
    }
  })
  .transform(readStep)
  .openapi('WorkflowStepInput');

/** The steps that only flows have. */
export const flowSteps = flowStepSchemas(() => anyStepInput);

type AnyStepInput = z.input<typeof stepInput> | z.input<(typeof flowSteps)[number]>;
const featureTypes = [...catalog.stepKinds.keys()].filter(isFeatureType);

// Generators of clients take a mapping for the list of all types.
const stepMapping = {
  parallel: '#/components/schemas/ParallelStepInput',
  map: '#/components/schemas/MapStepInput',
  wait: '#/components/schemas/WaitStepInput',
  event: '#/components/schemas/EventStepInput',
  approval: '#/components/schemas/ApprovalStepInput',
  workflow: '#/components/schemas/WorkflowCallStepInput',
  http: '#/components/schemas/HttpStepInput',
  fail: '#/components/schemas/FailStepInput',
  ...Object.fromEntries(featureTypes.map((type) => [type, `#/components/schemas/${componentOf(type)}`])),
  prompt: '#/components/schemas/WorkflowStepInput',
  ai_chat: '#/components/schemas/WorkflowStepInput',
  transform: '#/components/schemas/WorkflowStepInput',
  condition: '#/components/schemas/WorkflowStepInput',
  action: '#/components/schemas/WorkflowStepInput',
};

const anyStepInput: z.ZodType<Step, AnyStepInput> = z
  .discriminatedUnion('type', [stepInput, ...flowSteps])
  .openapi({ discriminator: { propertyName: 'type', mapping: stepMapping } });

export const inputDefinition = z
  .object({
    name: filledText(100, 'Expected a name.'),
    type: z.enum(inputTypes),
    required: z.boolean(),
    default: z.unknown().optional().openapi({ description: 'A value of the declared type.' }),
    description: text(500).optional(),
  })
  .openapi('InputDefinition');

export const concurrency = z
  .object({
    limit: z.int().min(1).max(1_000).openapi({ description: 'How many runs may run at the same time.' }),
    key: z.string().min(1).optional().openapi({
      maxLength: maxSourceLength,
      description:
        'A valid CEL expression over input and variables, whose value is a text of 1 to 200 characters: the limit holds for each value. Where it fails the run is refused.',
    }),
    strategy: z.enum(concurrencyStrategies).openapi({
      description:
        'What happens to a run over the limit: it waits (`queue`), by priority and then in the order of creation; it is not started (`skip`); or the oldest run is cancelled with the code `superseded` (`cancel_running`).',
    }),
  })
  .openapi('Concurrency');

const maxDurationSeconds = z.int().min(1).max(maxRunSeconds).openapi({
  description:
    'A run that executes for longer fails with the code `timeout`. The time in which it waits or is queued does not count.',
});

export const mcpSetting = z
  .object({
    enabled: z.boolean().openapi({
      description: `Whether the workflow is a tool of the MCP server at \`/mcp\`. At most ${maxToolWorkflows} of an environment are.`,
    }),
    name: z
      .string()
      .regex(toolNamePattern, 'Expected 1 to 64 lower-case letters, digits and underscores.')
      .optional()
      .openapi({
        description: 'The name of the tool, unique in the environment. Default: `workflow_` and the end of the id.',
      }),
    description: text(1_000).optional().openapi({
      description: 'What the tool does, in words for a model. Default: the description of the workflow.',
    }),
  })
  .openapi('McpSetting');

const writable = {
  name: nameText,
  description: text(500)
    .nullable()
    .openapi({ type: ['string', 'null'], maxLength: 500 }),
  steps: z
    .array(anyStepInput)
    .max(maxSteps, `Expected at most ${maxSteps} steps.`)
    .openapi({
      description: `Executed in this order. Each has an id of its own. At most ${maxSteps}, including steps within others.`,
    }),
  config: freeForm,
  inputs: z.array(inputDefinition).max(100).openapi({ description: 'Each has a name of its own.' }),
  concurrency: orNull(concurrency),
  maxDurationSeconds: orNull(maxDurationSeconds),
  mcp: orNull(mcpSetting),
  aiModel: modelName,
  aiProvider: z.enum(providers),
  isActive: z.boolean(),
  status: z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(automationStates))
    .openapi({
      type: 'string',
      enum: [...automationStates],
      description: 'Dialect B, in upper or lower case. Overrides isActive.',
    }),
};

export const newWorkflowSchema = z
  .object({ ...z.object(writable).partial().shape, name: nameText })
  .openapi('NewWorkflow');
export type NewWorkflowBody = z.output<typeof newWorkflowSchema>;
export type NewWorkflowExample = z.input<typeof newWorkflowSchema>;

export const workflowChangeSchema = z
  .object({
    ...z.object(writable).partial().shape,
    expectedVersion: z
      .int()
      .min(1)
      .max(2_000_000_000)
      .optional()
      .openapi({ description: 'With another current version the answer is 409 `conflict` with `details.version`.' }),
  })
  .openapi('WorkflowChange');
export type WorkflowChangeBody = z.output<typeof workflowChangeSchema>;
export type WorkflowChangeExample = z.input<typeof workflowChangeSchema>;

const common = {
  id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  totalRuns: z.int().openapi({ description: 'Started runs, including runs that have since been deleted.' }),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
};

const stateA = { isActive: z.boolean() };
const stateB = { status: z.enum(automationStates).openapi({ description: describeStates(automationStateTable) }) };

const summaryA = inDialect('WorkflowA', 'isActive', { ...common, ...stateA });
const summaryB = inDialect('WorkflowB', 'status', { ...common, ...stateB });

const stepView = <Type extends string>(prompt: Type) =>
  z.object({ ...stepFields, id: z.string(), type: z.enum([prompt, 'condition', 'transform', 'action']) });
const stepInB = stepView('ai_chat').extend({
  name: z.string().openapi({ description: 'The id of the step if it has no name.' }),
});

/** The fields of a flow's step are those with which it was saved. */
const flowStepView = z
  .object({ id: z.string(), type: z.enum([...flowStepTypes, ...featureTypes]), name: z.string().optional() })
  .catchall(z.unknown())
  .openapi('FlowStep', { description: 'A step of a flow, with the fields of its type.' });

const definition = {
  version: z.int().openapi({ description: 'The number of the current version; see `GET /workflows/{id}/versions`.' }),
  aiModel: z.string(),
  aiProvider: z.enum(providers),
  config: freeForm,
};
const starting = {
  concurrency: concurrency.optional(),
  maxDurationSeconds: maxDurationSeconds.optional(),
  isPaused: z.boolean().openapi({ description: 'While a workflow is paused its runs are accepted and queue.' }),
  mcp: mcpSetting.optional(),
};
const detailA = inDialect('WorkflowDetailA', 'isActive', {
  ...common,
  ...stateA,
  ...starting,
  ...definition,
  steps: z.array(z.union([stepView('prompt'), flowStepView])),
});
const detailB = inDialect('WorkflowDetailB', 'status', {
  ...common,
  ...stateB,
  ...starting,
  ...definition,
  steps: z.array(z.union([stepInB, flowStepView])),
  inputs: z.array(inputDefinition),
  webhookUrl: z.url().openapi({
    description:
      'POST here to start a run, with an API key or with the webhook secret of the workflow in `X-Webhook-Secret`.',
  }),
});

const warnings = z
  .array(
    z.object({ path: z.string(), code: z.enum(workflowWarningCodes), message: z.string() }).openapi('WorkflowWarning'),
  )
  .optional()
  .openapi({ description: 'Present when the saved workflow probably contains a mistake.' });

const { createdAt: _, totalRuns: __, ...changed } = common;
const changeA = inDialect('ChangedWorkflowA', 'isActive', { ...changed, ...stateA, aiModel: z.string(), warnings });
const changeB = inDialect('ChangedWorkflowB', 'status', { ...changed, ...stateB, aiModel: z.string(), warnings });

const createdA = inDialect('CreatedWorkflowA', 'isActive', { ...common, ...stateA, warnings });
const createdB = inDialect('CreatedWorkflowB', 'status', { ...common, ...stateB, warnings });

export const createdWorkflowSchema = z.union([createdA, createdB]);
export const workflowDetailSchema = z.union([detailA, detailB]);
export const changedWorkflowSchema = z.union([changeA, changeB]);
export const workflowListSchema = z.union([
  inDialect('WorkflowListA', 'pagination', { workflows: z.array(summaryA), pagination: paginationSchema }),
  inDialect('WorkflowListB', 'total', { workflows: z.array(summaryB), ...flatPage }),
]);

export type WorkflowSummaryAnswer = z.input<typeof summaryA> | z.input<typeof summaryB>;
export type WorkflowDetailAnswer = z.input<typeof workflowDetailSchema>;
export type ChangedWorkflowAnswer = z.input<typeof changedWorkflowSchema>;
export type WorkflowListAnswer = z.input<typeof workflowListSchema>;
