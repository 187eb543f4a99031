import { z } from '@hono/zod-openapi';
import { type AspectRatio, aspectRatios } from '../../../src/providers/core/media/aspect-ratios.ts';
import {
  defaultModels,
  type MediaKind,
  mediaModels,
  modelNames,
  qualities,
} from '../../../src/providers/core/media/models.ts';
import {
  type ImageRequest,
  type MusicRequest,
  requestLimits,
  type VideoRequest,
} from '../../../src/providers/core/media/requests.ts';
import { filledText, text } from '../text.ts';

const { promptCharacters, negativePromptCharacters, seed, videoSeconds, musicSeconds, bpm } = requestLimits;

const prompt = filledText(promptCharacters);
const modelOf = (kind: MediaKind) => z.enum(modelNames(mediaModels, kind) as [string, ...string[]]);

// No enumeration: generators of clients make names of its values, and these have no letters.
const aspectRatio = z
  .string()
  .regex(new RegExp(`^(${aspectRatios.join('|')})$`), `Expected one of ${aspectRatios.join(', ')}.`)
  .optional();

export const generateSchema = z
  .object({
    prompt,
    negativePrompt: text(negativePromptCharacters).optional().openapi({ description: 'What the image must not show.' }),
    model: modelOf('image')
      .optional()
      .openapi({ description: `Default ${defaultModels.image}.` }),
    aspectRatio: aspectRatio.openapi({ description: 'Default 1:1. The model ideogram-v2 has no 21:9.' }),
    quality: z.enum(qualities).optional().openapi({ description: 'Default standard. It does not change the size.' }),
    seed: z.int().min(0).max(seed).optional().openapi({ description: 'Chosen, and told, when it is absent.' }),
  })
  .openapi('GenerateImage');

export const generateMusicSchema = z
  .object({
    prompt,
    model: modelOf('music')
      .optional()
      .openapi({ description: `Default ${defaultModels.music}, which makes at most 30 seconds.` }),
    duration: z
      .number()
      .min(musicSeconds.least)
      .max(musicSeconds.most)
      .optional()
      .openapi({ description: 'In seconds. Default 10.' }),
    bpm: z.number().min(bpm.least).max(bpm.most).optional().openapi({ description: 'Beats per minute.' }),
  })
  .openapi('GenerateMusic');

export const generateVideoSchema = z
  .object({
    prompt: prompt.openapi({ description: 'At most 1000 characters for runway-gen3.' }),
    model: modelOf('video')
      .optional()
      .openapi({ description: `Default ${defaultModels.video}.` }),
    duration: z
      .number()
      .min(videoSeconds.least)
      .max(videoSeconds.most)
      .optional()
      .openapi({
        description: `In seconds, fractions too. Default ${videoSeconds.least}. What is delivered is paid by started seconds, and never more than what was asked.`,
      }),
    aspectRatio: aspectRatio.openapi({
      description: 'Default 16:9. `GET /api/studio/models` tells the ratios and the longest duration of each model.',
    }),
  })
  .openapi('GenerateVideo');

/** Fills in the defaults. An empty text is no text. */
export const readImageRequest = (body: z.infer<typeof generateSchema>): ImageRequest => ({
  kind: 'image',
  prompt: body.prompt,
  negativePrompt: body.negativePrompt || null,
  model: body.model ?? defaultModels.image,
  aspectRatio: (body.aspectRatio ?? '1:1') as AspectRatio,
  quality: body.quality ?? 'standard',
  seed: body.seed ?? null,
});

export const readMusicRequest = (body: z.infer<typeof generateMusicSchema>): MusicRequest => ({
  kind: 'music',
  prompt: body.prompt,
  model: body.model ?? defaultModels.music,
  duration: body.duration ?? musicSeconds.least,
  bpm: body.bpm ?? null,
});

export const readVideoRequest = (body: z.infer<typeof generateVideoSchema>): VideoRequest => ({
  kind: 'video',
  prompt: body.prompt,
  model: body.model ?? defaultModels.video,
  duration: body.duration ?? videoSeconds.least,
  aspectRatio: (body.aspectRatio ?? '16:9') as AspectRatio,
});

export const generateExamples = {
  short: { prompt: 'A red bicycle in front of a blue wall' },
  everything: {
    prompt: 'A red bicycle in front of a blue wall',
    negativePrompt: 'people',
    model: 'flux-dev',
    aspectRatio: '16:9',
    quality: 'high' as const,
    seed: 42,
  },
};

export const videoExamples = {
  short: { prompt: 'Waves on a beach at sunset' },
  everything: { prompt: 'Waves on a beach at sunset', model: 'kling-1.5-pro', duration: 7.5, aspectRatio: '9:16' },
};

export const musicExamples = {
  short: { prompt: 'A calm waltz' },
  everything: { prompt: 'A calm waltz', model: 'stable-audio', duration: 45, bpm: 90 },
};
