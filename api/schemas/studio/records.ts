import { z } from '@hono/zod-openapi';
import { describeStates } from '../../../src/platform/core/states.ts';
import { formatId } from '../../../src/studio/core/ids.ts';
import { progressOf } from '../../../src/studio/core/progress.ts';
import { failureReasons, generationStates, generationStatuses } from '../../../src/studio/core/status.ts';
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
    duration: z.number().openapi({ description: 'Of the file, in seconds.' }),
    format: z.literal('mp3'),
    creditsUsed,
  })
  .openapi('GeneratedMusic');

export const processingSchema = z.object({ id: z.string(), status: z.literal('processing') }).openapi('Processing');

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
    format: z.literal('mp3').optional(),
    seed: z.int().optional(),
    creditsUsed: creditsUsed.optional().openapi({ description: 'Present once it is completed.' }),
    progress: z.int().min(0).max(99).optional().openapi({ description: 'Of a video that is being made, in percent.' }),
    createdAt: time,
    completedAt: time.nullable(),
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

/** Makes the address of a stored file. */
export type Sign = (file: string) => string;

/** Encoders pad music: its length is told to the hundredth. */
export const hundredths = (seconds: number) => Math.round(seconds * 100) / 100;

export const idOf = ({ id, request }: GenerationDetail) => formatId(request.kind, id);

/** A completed image. */
export function imageRecord(image: GenerationDetail, sign: Sign): z.infer<typeof imageSchema> {
  const { request, file, width, height, seed, credits, createdAt } = image;
  if (request.kind !== 'image') throw new Error('The generation is no image.');
  return {
    ...{ id: idOf(image), url: sign(file!), prompt: request.prompt, model: request.model },
    ...{ aspectRatio: request.aspectRatio, width: width!, height: height!, seed },
    ...{ creditsUsed: credits!, createdAt: createdAt.toISOString() },
  };
}

/** Completed music. */
export const musicRecord = (music: GenerationDetail, sign: Sign): z.infer<typeof musicSchema> => ({
  ...{ id: idOf(music), url: sign(music.file!), duration: hundredths(music.seconds!) },
  ...{ format: 'mp3', creditsUsed: music.credits! },
});

/** What is known of a completed generation beside what every generation has. */
function madeOf(generation: GenerationDetail, sign: Sign) {
  const { request, file, width, height, seconds, seed, credits } = generation;
  if (file === null) return {};
  return {
    url: sign(file),
    creditsUsed: credits!,
    ...(width !== null && height !== null && { width, height }),
    ...(seconds !== null && { duration: hundredths(seconds) }),
    ...(request.kind === 'music' && { format: 'mp3' as const }),
    ...(request.kind === 'image' && { aspectRatio: request.aspectRatio, seed }),
  };
}

export function generationRecord(generation: GenerationDetail, sign: Sign): z.infer<typeof generationSchema> {
  const { request, status, error, createdAt, finishedAt } = generation;
  return {
    ...{ id: idOf(generation), type: request.kind, status, prompt: request.prompt, model: request.model },
    ...madeOf(generation, sign),
    ...(request.kind === 'video' && status === 'processing' && { progress: progressOf(generation) }),
    ...{ createdAt: createdAt.toISOString(), error },
    completedAt: status === 'completed' ? finishedAt!.toISOString() : null,
  };
}

export const historyItem = (generation: GenerationDetail, sign: Sign) => ({
  ...{ id: idOf(generation), type: generation.request.kind, url: sign(generation.file!) },
  ...{ prompt: generation.request.prompt, model: generation.request.model },
  createdAt: generation.createdAt.toISOString(),
});
