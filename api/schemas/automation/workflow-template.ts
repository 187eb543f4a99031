import { z } from '@hono/zod-openapi';
import { gallery } from '../../../src/automation/templates/gallery.ts';
import { freeForm } from '../free-form.ts';
import { inDialect } from '../in-dialect.ts';
import { flatPage, paginationSchema } from '../pagination.ts';
import { nameText } from '../text.ts';
import { inputDefinition, type NewWorkflowBody, newWorkflowSchema } from './workflow.ts';

const template = z
  .object({
    id: z.string(),
    name: z.string(),
    description: z.string(),
    inputs: z.array(inputDefinition),
    example: z.object({ input: z.unknown().optional(), variables: freeForm.optional() }).openapi({
      description: 'An example of a body that executes the workflow. Dialect B takes `variables` as `inputs`.',
    }),
  })
  .openapi('WorkflowTemplate');

const templates = z.array(template);
export const templateListSchema = z.union([
  inDialect('WorkflowTemplateListA', 'pagination', { templates, pagination: paginationSchema }),
  inDialect('WorkflowTemplateListB', 'total', { templates, ...flatPage }),
]);

const example = {
  id: 'summarize',
  name: 'Summarize a text',
  description: 'One prompt: the input of the run becomes a summary of three sentences.',
  inputs: [],
  example: { input: 'Atelier executes workflows of AI steps on Temporal.' },
};
export const templateListExamples = {
  A: { templates: [example], pagination: { total: gallery.length, limit: 1, offset: 0, hasMore: true } },
  B: { templates: [example], total: gallery.length, limit: 1, offset: 0 },
};

const fromTemplateSchema = z
  .strictObject({
    template: z.enum(gallery.map(({ id }) => id)).openapi({ description: 'The id of a template.' }),
    name: nameText.optional().openapi({ description: 'Default: the name of the template.' }),
  })
  .openapi('NewWorkflowFromTemplate');
export type FromTemplateBody = z.output<typeof fromTemplateSchema>;

export const isFromTemplate = (body: NewWorkflowBody | FromTemplateBody): body is FromTemplateBody =>
  'template' in body;

/** A new workflow, or the template to create it from: a body is checked as the kind that it has. */
export const createWorkflowSchema = z
  .unknown()
  .transform((body, context): NewWorkflowBody | FromTemplateBody => {
    const names = typeof body === 'object' && body !== null && 'template' in body;
    const read = (names ? fromTemplateSchema : newWorkflowSchema).safeParse(body);
    if (read.success) return read.data;
    for (const issue of read.error.issues) context.issues.push({ ...issue, input: body } as never);
    return z.NEVER;
  })
  .openapi({
    anyOf: [{ $ref: '#/components/schemas/NewWorkflow' }, { $ref: '#/components/schemas/NewWorkflowFromTemplate' }],
  });

/** The components that its schema names. */
export const createWorkflowComponents = { NewWorkflow: newWorkflowSchema, NewWorkflowFromTemplate: fromTemplateSchema };
