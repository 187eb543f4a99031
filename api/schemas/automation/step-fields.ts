import { z } from '@hono/zod-openapi';
import { stepIdPattern } from '../../../src/automation/core/steps.ts';
import { text } from '../text.ts';

export const idProblem = 'Expected a letter or underscore and up to 63 letters, digits, underscores or hyphens.';

/** The fields of every step of a flow. */
export const stepFields = {
  id: z
    .string()
    .regex(stepIdPattern, idProblem)
    .refine((id) => id !== 'end', 'Conditions use "end" for the end of their list. Choose another id.')
    .openapi({ description: 'Unique in the workflow, whatever list the step stands in, and not `end`.' }),
  name: text(200).optional(),
};
