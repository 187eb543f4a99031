import { z } from '@hono/zod-openapi';
import { automationStates, automationStateTable } from '../../../src/automation/core/automation-state.ts';
import { inputTypes } from '../../../src/automation/core/inputs.ts';
import { maxSteps, providers, stepIdPattern } from '../../../src/automation/core/steps.ts';
import { describeStates } from '../../../src/platform/core/states.ts';
import { freeForm } from '../free-form.ts';
import { flatPage, paginationSchema } from '../pagination.ts';
import { nameText, text } from '../text.ts';
import { readStep } from './read-step.ts';

const modelName = text(200).refine((value) => value.trim() !== '', 'Expected a model name.');

const modelChoice = z.object({ provider: z.enum(providers), model: modelName });

const stepFields = {
  name: text(200).optional(),
  prompt: z
    .string()
    .optional()
    .openapi({ description: 'A template with {{input}}, {{name}} and {{steps.<id>.output}}.' }),
  expression: z.string().optional().openapi({
    description:
      'For conditions and transforms: a CEL expression over input, variables and steps.<id>.output, at most 2,000 characters and 250 ms. May be given in prompt instead.',
  }),
  then: z
    .string()
    .optional()
    .openapi({ description: 'For conditions: where to continue if true, a later step or end.' }),
  else: z
    .string()
    .optional()
    .openapi({ description: 'For conditions: where to continue if false, a later step or end (the default).' }),
  provider: z.enum(providers).optional(),
  model: modelName.optional(),
  system: z.string().optional(),
  temperature: z.number().min(0).max(1).optional(),
  maxTokens: z.int().min(1).max(1_000_000).optional(),
  outputSchema: freeForm.optional().openapi({
    description:
      'A JSON Schema that the output must match. At most 64 KiB, 500 subschemas, depth 16, references within the schema, and 2,000 characters of patterns.',
  }),
  retry: z.object({ maxAttempts: z.int().min(1).max(20) }).optional(),
  fallback: z
    .array(modelChoice)
    .max(5)
    .optional()
    .openapi({ description: 'Models to try in turn when the model fails.' }),
};

const stepInput = z
  .object({
    id: z
      .string()
      .regex(stepIdPattern, 'Expected a letter or underscore and up to 63 letters, digits, underscores or hyphens.'),
    type: z.enum(['prompt', 'ai_chat', 'condition', 'transform']),
    ...stepFields,
  })
  .transform(readStep)
  .openapi('WorkflowStepInput');

const inputDefinition = z
  .object({
    name: text(100).refine((value) => value.trim() !== '', 'Expected a name.'),
    type: z.enum(inputTypes),
    required: z.boolean(),
    default: z.unknown().optional(),
    description: text(500).optional(),
  })
  .openapi('InputDefinition');

const writable = {
  name: nameText,
  description: text(500).nullable(),
  steps: z.array(stepInput).max(maxSteps, `Expected at most ${maxSteps} steps.`),
  config: freeForm,
  inputs: z.array(inputDefinition).max(100),
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

export const workflowChangeSchema = z.object(writable).partial().openapi('WorkflowChange');
export type WorkflowChangeBody = z.output<typeof workflowChangeSchema>;
export type WorkflowChangeExample = z.input<typeof workflowChangeSchema>;

const common = {
  id: z.string(),
  name: z.string(),
  description: z.string().nullable(),
  totalRuns: z.int(),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
};

const stateA = { isActive: z.boolean() };
const stateB = { status: z.enum(automationStates).openapi({ description: describeStates(automationStateTable) }) };

const summaryA = z.object({ ...common, ...stateA }).openapi('WorkflowA');
const summaryB = z.object({ ...common, ...stateB }).openapi('WorkflowB');

const stepView = <Type extends string>(prompt: Type) =>
  z.object({ ...stepFields, id: z.string(), type: z.enum([prompt, 'condition', 'transform']) });

const definition = { aiModel: z.string(), aiProvider: z.enum(providers), config: freeForm };
const detailA = z
  .object({ ...common, ...stateA, ...definition, steps: z.array(stepView('prompt')) })
  .openapi('WorkflowDetailA');
const detailB = z
  .object({
    ...common,
    ...stateB,
    ...definition,
    steps: z.array(stepView('ai_chat')),
    inputs: z.array(inputDefinition),
    webhookUrl: z.url(),
  })
  .openapi('WorkflowDetailB');

const { createdAt: _, totalRuns: __, ...changed } = common;
const changeA = z.object({ ...changed, ...stateA, aiModel: z.string() }).openapi('ChangedWorkflowA');
const changeB = z.object({ ...changed, ...stateB, aiModel: z.string() }).openapi('ChangedWorkflowB');

export const workflowSummarySchema = z.union([summaryA, summaryB]);
export const workflowDetailSchema = z.union([detailA, detailB]);
export const changedWorkflowSchema = z.union([changeA, changeB]);
export const workflowListSchema = z.union([
  z.object({ workflows: z.array(summaryA), pagination: paginationSchema }),
  z.object({ workflows: z.array(summaryB), ...flatPage }),
]);

export type WorkflowSummaryAnswer = z.input<typeof workflowSummarySchema>;
export type WorkflowDetailAnswer = z.input<typeof workflowDetailSchema>;
export type ChangedWorkflowAnswer = z.input<typeof changedWorkflowSchema>;
export type WorkflowListAnswer = z.input<typeof workflowListSchema>;
