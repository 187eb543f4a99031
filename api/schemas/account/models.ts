import { z } from '@hono/zod-openapi';
import { type TextProvider, textProviders } from '../../../src/providers/text/models.ts';

export const textModelListSchema = z
  .object({
    models: z.array(
      z.object({
        id: z
          .string()
          .openapi({ description: 'The value of `model` in prompts of workflows, in chat and for agents.' }),
        provider: z.enum(Object.keys(textProviders) as [TextProvider, ...TextProvider[]]),
        upstream: z.string().openapi({ description: "The provider's name of the model that answers." }),
        maxOutputTokens: z.int().nullable().openapi({ description: 'Null where it is not known.' }),
        available: z.boolean().openapi({
          description: "Whether this key's environment can ask it. The sandbox answers for every model.",
        }),
      }),
    ),
  })
  .openapi('TextModels');

const example: z.infer<typeof textModelListSchema> = {
  models: [
    {
      id: 'gemini-2.0-flash',
      provider: 'GOOGLE',
      upstream: 'gemini-3.5-flash-lite',
      maxOutputTokens: 65_536,
      available: true,
    },
  ],
};
export const textModelExamples = { A: example, B: example };
