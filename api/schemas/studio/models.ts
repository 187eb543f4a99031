import { z } from '@hono/zod-openapi';
import { sizes } from '../../../src/providers/core/media/aspect-ratios.ts';
import type { ListedModel } from '../../../src/studio/list-models.ts';

const credits = z.union([
  z.object({ standard: z.int(), high: z.int(), ultra: z.int() }),
  z.object({ perSecond: z.int() }),
  z.object({ per10Seconds: z.int() }),
]);

export const modelListSchema = z
  .object({
    models: z.array(
      z.object({
        name: z.string(),
        type: z.enum(['image', 'video', 'music']),
        available: z.boolean().openapi({ description: "Whether this key's environment can run it." }),
        aspectRatios: z.array(z.string()).optional(),
        maxDuration: z.number().optional().openapi({ description: 'The maximum duration in seconds.' }),
        maxPromptLength: z.int(),
        credits,
        sunsetAt: z.iso.date().nullable().openapi({ description: 'When its provider will shut it down.' }),
      }),
    ),
    sizes: z.record(z.string(), z.object({ width: z.int(), height: z.int() })).openapi({
      description: 'Pixels of each aspect ratio, for images.',
    }),
  })
  .openapi('MediaModels');

export const modelList = (models: ListedModel[]): z.infer<typeof modelListSchema> => ({ models, sizes });

export const modelExamples = {
  models: {
    models: [
      {
        name: 'flux-pro-1.1',
        type: 'image' as const,
        available: true,
        aspectRatios: ['1:1', '16:9'],
        maxPromptLength: 4_000,
        credits: { standard: 1, high: 2, ultra: 5 },
        sunsetAt: null,
      },
    ],
    sizes: { '1:1': { width: 1024, height: 1024 } },
  },
};
