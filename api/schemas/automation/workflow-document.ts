import { z } from '@hono/zod-openapi';
import { workflowWarningCodes } from '../../../src/automation/core/step-references.ts';
import { described } from '../answers.ts';
import { freeForm } from '../free-form.ts';

export const workflowDocumentSchema = freeForm.openapi('WorkflowDocument', {
  type: 'object',
  description:
    'A workflow as `GET /workflows/{id}/export` returns it: `atelier` (1), `name`, and optionally `description`, `steps`, `config`, `aiModel`, `aiProvider`, `inputs`, `concurrency`, `maxDurationSeconds`, `mcp`, `triggers` and `schedule`. In a step of type workflow `{"$name": "…"}` stands for the id of the workflow with that name.',
});

/** A workflow to validate: no content makes it a bad request. */
export const draftSchema = freeForm.openapi('WorkflowDraft', {
  type: 'object',
  description: 'The body of `POST /workflows`. It may be invalid.',
});

export const validationSchema = z
  .object({
    valid: z.boolean(),
    errors: z.array(z.object({ path: z.string(), message: z.string() })),
    warnings: z.array(z.object({ path: z.string(), code: z.enum(workflowWarningCodes), message: z.string() })),
  })
  .openapi('WorkflowValidation');

export const exportQuery = z.object({
  format: z.enum(['json', 'yaml']).optional().openapi({ description: 'Default json.' }),
});

const document = {
  atelier: 1,
  name: 'Summarize a report',
  description: null,
  steps: [{ id: 'summarize', type: 'prompt', prompt: 'Summarize: {{input}}' }],
  config: {},
  aiModel: 'claude-sonnet-4-20250514',
  aiProvider: 'ANTHROPIC',
  inputs: [],
  concurrency: null,
  maxDurationSeconds: null,
  triggers: [],
  schedule: null,
};
const alike = <Value>(value: Value) => ({ A: value, B: value });
export const workflowDocumentExamples = alike(document);
const written =
  "atelier: 1\nname: Summarize a report\nsteps:\n  - id: summarize\n    type: prompt\n    prompt: 'Summarize: {{input}}'\n";
/** A document as YAML, which comes and goes as text. */
export const yamlDocument = {
  'application/yaml': { schema: { type: 'string' as const }, examples: described(alike(written)) },
};
export const draftExamples = alike({ name: 'Summarize', steps: [{ id: 'summarize', type: 'prompt' }] });
export const validationExamples = alike({
  valid: true,
  errors: [],
  warnings: [
    { path: 'steps.0.prompt', code: 'missing_prompt' as const, message: 'The step has no prompt: it sends {{input}}.' },
  ],
});
