// The bodies of the endpoints that generate, as steps of workflows take them for their payloads.
import { z } from 'zod';
import { type AspectRatio, aspectRatios } from '../providers/core/media/aspect-ratios.ts';
import { defaultModels, qualities } from '../providers/core/media/models.ts';
import { codePoints, type GenerationRequest, requestLimits } from '../providers/core/media/requests.ts';

const { promptCharacters, negativePromptCharacters, imageUrlCharacters, seed, videoSeconds, musicSeconds, bpm } =
  requestLimits;

const text = (max: number) =>
  z.string().refine((value) => codePoints(value) <= max, `Expected at most ${max} characters.`);
const filled = (max: number) =>
  text(max).refine((value) => value.trim() !== '', 'Expected at least one character that is not a space.');

const prompt = filled(promptCharacters);
const imageUrl = filled(imageUrlCharacters);
const aspectRatio = z.enum(aspectRatios).optional();
const model = z.string().optional();

/** The request in a body, with its defaults filled in. */
export interface Asked {
  request: GenerationRequest;
  imageUrl: string | null;
}

interface Body<Schema extends z.ZodType> {
  schema: Schema;
  read(body: z.output<Schema>): Asked;
}

export interface AnyBody {
  schema: z.ZodType;
  read(body: unknown): Asked;
}

const defineBody = <Schema extends z.ZodType>(body: Body<Schema>): AnyBody => body as unknown as AnyBody;

export const imageBody = defineBody({
  schema: z.object({
    prompt,
    negativePrompt: text(negativePromptCharacters).optional(),
    model,
    aspectRatio,
    quality: z.enum(qualities).optional(),
    seed: z.int().min(0).max(seed).optional(),
  }),
  read: (body) => ({
    imageUrl: null,
    request: {
      kind: 'image',
      prompt: body.prompt,
      negativePrompt: body.negativePrompt || null,
      model: body.model ?? defaultModels.image,
      aspectRatio: body.aspectRatio ?? '1:1',
      quality: body.quality ?? 'standard',
      seed: body.seed ?? null,
    },
  }),
});

export const videoBody = defineBody({
  schema: z.object({
    prompt,
    imageUrl: imageUrl.optional(),
    model,
    duration: z.number().min(videoSeconds.min).max(videoSeconds.max).optional(),
    aspectRatio,
  }),
  read: (body) => ({
    imageUrl: body.imageUrl ?? null,
    request: {
      kind: 'video',
      prompt: body.prompt,
      model: body.model ?? defaultModels.video,
      duration: body.duration ?? videoSeconds.min,
      aspectRatio: (body.aspectRatio ?? '16:9') as AspectRatio,
    },
  }),
});

export const musicBody = defineBody({
  schema: z.object({
    prompt,
    model,
    duration: z.number().min(musicSeconds.min).max(musicSeconds.max).optional(),
    bpm: z.number().min(bpm.min).max(bpm.max).optional(),
  }),
  read: (body) => ({
    imageUrl: null,
    request: {
      kind: 'music',
      prompt: body.prompt,
      model: body.model ?? defaultModels.music,
      duration: body.duration ?? musicSeconds.min,
      bpm: body.bpm ?? null,
    },
  }),
});

export const upscaleBody = defineBody({
  schema: z.object({ imageUrl, scale: z.literal([2, 4]).optional() }),
  read: (body) => ({ imageUrl: body.imageUrl, request: { kind: 'upscale', scale: body.scale ?? 2 } }),
});

export const backgroundRemovalBody = defineBody({
  schema: z.object({ imageUrl }),
  read: (body) => ({ imageUrl: body.imageUrl, request: { kind: 'background_removal' } }),
});
