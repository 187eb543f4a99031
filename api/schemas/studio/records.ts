import { z } from '@hono/zod-openapi';
import { describeStates } from '../../../src/platform/core/states.ts';
import { progressOf } from '../../../src/studio/core/progress.ts';
import { failureReasons, generationStates, generationStatuses } from '../../../src/studio/core/status.ts';
import { enlargement, hundredths, idOf, type Sign } from '../../../src/studio/generation-records.ts';
import type { GenerationDetail } from '../../../src/studio/generations.ts';
import { historyTypes } from '../../../src/studio/history.ts';

export const url = z.url().openapi({ description: 'A signed address of the file. Every answer has a new one.' });
const creditsUsed = z.int();
const time = z.iso.datetime();

export const imageSchema = z
  .object({
    id: z.string(),
    url,
    prompt: z.string(),
    model: z.string(),
    aspectRatio: z.string(),
    width: z.int(),
    height: z.int(),
    seed: z.int(),
    creditsUsed,
    createdAt: time,
  })
  .openapi('GeneratedImage');

export const musicSchema = z
  .object({
    id: z.string(),
    url,
    duration: z.number().openapi({ description: 'The length of the file in seconds.' }),
    format: z.literal('mp3'),
    creditsUsed,
  })
  .openapi('GeneratedMusic');

export const upscaleRecordSchema = z
  .object({
    id: z.string(),
    url,
    originalWidth: z.int(),
    originalHeight: z.int(),
    newWidth: z.int(),
    newHeight: z.int(),
    scale: z.int(),
    creditsUsed,
  })
  .openapi('UpscaledImage');

export const cutOutSchema = z
  .object({
    id: z.string(),
    url,
    format: z.literal('png'),
    hasTransparency: z.boolean().openapi({ description: 'False where no background was found.' }),
    creditsUsed,
  })
  .openapi('ImageWithoutBackground');

export const enhancedPromptSchema = z.object({ original: z.string(), enhanced: z.string() }).openapi('EnhancedPrompt');

export const processingSchema = z
  .object({ id: z.string(), status: z.literal('processing') })
  .openapi('ProcessingGeneration');

export const generationSchema = z
  .object({
    id: z.string(),
    type: z.enum(['image', 'upscale', 'background_removal', 'video', 'music']),
    status: z.enum(generationStatuses).openapi({ description: describeStates(generationStates) }),
    prompt: z.string().nullable(),
    model: z.string().nullable(),
    url: url.optional(),
    aspectRatio: z.string().optional(),
    width: z.int().optional(),
    height: z.int().optional(),
    duration: z.number().optional(),
    originalWidth: z.int().optional(),
    originalHeight: z.int().optional(),
    newWidth: z.int().optional(),
    newHeight: z.int().optional(),
    scale: z.int().optional(),
    format: z.enum(['mp3', 'png']).optional(),
    hasTransparency: z.boolean().optional(),
    seed: z.int().optional(),
    creditsUsed: creditsUsed.optional().openapi({ description: 'Present once it is completed.' }),
    progress: z
      .int()
      .min(0)
      .max(99)
      .optional()
      .openapi({ description: 'The progress of a video that is being made, in percent.' }),
    createdAt: time,
    completedAt: time.nullable(),
    failedAt: time.nullable(),
    error: z.object({ code: z.enum(failureReasons), message: z.string() }).nullable(),
  })
  .openapi('Generation');

export const historySchema = z
  .object({
    items: z.array(
      z.object({
        id: z.string(),
        type: z.enum(historyTypes),
        url,
        prompt: z.string(),
        model: z.string(),
        createdAt: time,
      }),
    ),
    total: z.int(),
    limit: z.int(),
    offset: z.int(),
  })
  .openapi('GenerationHistory');

/** What only generations of a kind have. */
function ownOf(generation: GenerationDetail) {
  const { request, seed, width, height, hasTransparency } = generation;
  const size = width !== null && height !== null && { width, height };
  switch (request.kind) {
    case 'image':
      return { ...size, aspectRatio: request.aspectRatio, seed };
    case 'upscale':
      return enlargement(generation);
    case 'background_removal':
      return { format: 'png' as const, hasTransparency: hasTransparency! };
    case 'video':
      return { ...size };
    case 'music':
      return { format: 'mp3' as const };
  }
}

/** The data of a completed generation besides that of every generation. */
function madeOf(generation: GenerationDetail, sign: Sign) {
  const { file, seconds, credits } = generation;
  if (file === null) return {};
  return {
    url: sign(file),
    creditsUsed: credits!,
    ...(seconds !== null && { duration: hundredths(seconds) }),
    ...ownOf(generation),
  };
}

/** Null where the kind has none. */
const askedOf = ({ request }: GenerationDetail) => ({
  prompt: 'prompt' in request ? request.prompt : null,
  model: 'model' in request ? request.model : null,
});

export function generationRecord(generation: GenerationDetail, sign: Sign): z.infer<typeof generationSchema> {
  const { request, status, error, createdAt, finishedAt } = generation;
  return {
    id: idOf(generation),
    type: request.kind,
    status,
    ...askedOf(generation),
    ...madeOf(generation, sign),
    ...(request.kind === 'video' && status === 'processing' && { progress: progressOf(generation) }),
    createdAt: createdAt.toISOString(),
    error: error && { code: error.code, message: error.message },
    completedAt: status === 'completed' ? finishedAt!.toISOString() : null,
    failedAt: status === 'failed' ? finishedAt!.toISOString() : null,
  };
}

export function historyItem(generation: GenerationDetail, sign: Sign) {
  const { request, file, createdAt } = generation;
  if (!('prompt' in request)) throw new Error('The history shows no such generation.');
  return {
    id: idOf(generation),
    type: request.kind,
    url: sign(file!),
    prompt: request.prompt,
    model: request.model,
    createdAt: createdAt.toISOString(),
  };
}
