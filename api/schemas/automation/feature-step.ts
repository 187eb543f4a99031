// The steps that features bring to workflows, as they are sent.
import { z } from '@hono/zod-openapi';
import { type FeatureStepType, isFeatureType } from '../../../src/automation/core/step-types.ts';
import { catalog } from '../../../src/services.ts';
import { freeForm } from '../free-form.ts';
import { stepFields } from './step-fields.ts';

const pascal = (type: string) => type.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase());

/** The component that describes a type of step. */
export const componentOf = (type: string): string => `${pascal(type)}StepInput`;

export const featureStepSchemas = [...catalog.stepKinds.values()].flatMap(({ type, description, example }) => {
  if (!isFeatureType(type)) return [];
  return z
    .object({
      ...stepFields,
      type: z.literal<FeatureStepType>(type),
      payload: freeForm.openapi({
        description:
          'A valid payload: the body of the endpoint. Its strings are templates; one that is exactly one placeholder becomes the value with its type. What depends on them is checked when the step is executed.',
        ...(example && { example }),
      }),
    })
    .openapi(componentOf(type), { description });
});
