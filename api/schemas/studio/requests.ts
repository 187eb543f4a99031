import { z } from '@hono/zod-openapi';
import { type AspectRatio, aspectRatios } from '../../../src/providers/core/media/aspect-ratios.ts';
import {
  defaultModels,
  findModel,
  type MediaKind,
  type MediaModel,
  mediaModels,
  modelNames,
  qualities,
} from '../../../src/providers/core/media/models.ts';
import {
  type BackgroundRemovalRequest,
  type ImageRequest,
  type MusicRequest,
  pixelLimits,
  requestLimits,
  type UpscaleRequest,
  type VideoRequest,
} from '../../../src/providers/core/media/requests.ts';
import { filledText, text } from '../text.ts';

const { promptCharacters, negativePromptCharacters, styleCharacters, imageUrlCharacters } = requestLimits;
const { seed, videoSeconds, musicSeconds, bpm } = requestLimits;
const megapixels = (pixels: number) => pixels / 1_000_000;

const prompt = filledText(promptCharacters);

/** The names of this release. The operator may have added others, so an unknown name is detected later. */
const modelOf = (kind: MediaKind) => z.string().openapi({ enum: modelNames(mediaModels, kind) });

// No enumeration: generators of clients make names of its values, and these have no letters.
const aspectRatio = z
  .string()
  .regex(new RegExp(`^(${aspectRatios.join('|')})$`), `Expected one of ${aspectRatios.join(', ')}.`)
  .optional();

/** What each model of a kind takes, in the words of `factOf`. */
const eachModel = <Kind extends 'image' | 'video' | 'music'>(
  kind: Kind,
  factOf: (model: Extract<MediaModel, { kind: Kind }>) => string,
): string =>
  modelNames(mediaModels, kind)
    .map((name) => `${name} ${factOf(findModel(mediaModels, kind, name)!)}`)
    .join('; ');

const ratiosOf = (kind: 'image' | 'video') => `By model: ${eachModel(kind, ({ ratios }) => ratios.join(', '))}.`;
const lengthsOf = (kind: 'video' | 'music', min: number) =>
  `By model: ${eachModel(kind, ({ maxSeconds }) => `${min} to ${maxSeconds}`)}.`;

export const generateSchema = z
  .object({
    prompt,
    negativePrompt: text(negativePromptCharacters).optional().openapi({ description: 'What the image must not show.' }),
    model: modelOf('image')
      .optional()
      .openapi({ description: `Default ${defaultModels.image}.` }),
    aspectRatio: aspectRatio.openapi({ description: `Default 1:1. ${ratiosOf('image')}` }),
    quality: z.enum(qualities).optional().openapi({ description: 'Default standard. It does not change the size.' }),
    seed: z
      .int()
      .min(0)
      .max(seed)
      .optional()
      .openapi({ description: 'Default: a random seed. The answer returns it.' }),
  })
  .openapi('ImageRequest');

export const generateMusicSchema = z
  .object({
    prompt,
    model: modelOf('music')
      .optional()
      .openapi({ description: `Default ${defaultModels.music}, which makes at most 30 seconds.` }),
    duration: z
      .number()
      .min(musicSeconds.min)
      .max(musicSeconds.max)
      .optional()
      .openapi({ description: `In seconds. Default 10. ${lengthsOf('music', musicSeconds.min)}` }),
    bpm: z.number().min(bpm.min).max(bpm.max).optional().openapi({ description: 'Beats per minute.' }),
  })
  .openapi('MusicRequest');

/** The address of an image. Problems of the image are found when it is fetched. */
export const imageUrl = filledText(imageUrlCharacters).openapi({
  description: `The public address of a PNG, JPEG or WebP of at most 25 MiB and ${megapixels(pixelLimits.input)} megapixels, or the url of a file that was generated here. Up to 3 redirects are followed. Its server must begin to send it within 10 seconds, and then send 16 KiB a second.`,
});

export const generateVideoSchema = z
  .object({
    prompt: prompt.openapi({ description: 'At most 1000 characters for runway-gen3.' }),
    imageUrl: imageUrl.optional(),
    model: modelOf('video')
      .optional()
      .openapi({ description: `Default ${defaultModels.video}.` }),
    duration: z
      .number()
      .min(videoSeconds.min)
      .max(videoSeconds.max)
      .optional()
      .openapi({
        description: `Seconds, fractions included. Default ${videoSeconds.min}. The price counts the started seconds of the delivered video, up to the requested duration. ${lengthsOf('video', videoSeconds.min)}`,
      }),
    aspectRatio: aspectRatio.openapi({
      description: `Default 16:9. ${ratiosOf('video')} \`GET /api/studio/models\` lists those of this installation.`,
    }),
  })
  .openapi('VideoRequest');

export const upscaleSchema = z
  .object({
    imageUrl,
    scale: z
      .literal([2, 4])
      .optional()
      .openapi({
        type: 'integer',
        enum: [2, 4],
        description: `Default 2. The result has at most ${megapixels(pixelLimits.output)} megapixels.`,
      }),
  })
  .openapi('UpscaleRequest');

export const removeBackgroundSchema = z.object({ imageUrl }).openapi('BackgroundRemovalRequest');

export const enhancePromptSchema = z
  .object({
    prompt,
    style: text(styleCharacters).optional().openapi({ description: 'How the result should look.' }),
  })
  .openapi('PromptEnhancementRequest');

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
  duration: body.duration ?? musicSeconds.min,
  bpm: body.bpm ?? null,
});

export const readVideoRequest = (body: Omit<z.infer<typeof generateVideoSchema>, 'imageUrl'>): VideoRequest => ({
  kind: 'video',
  prompt: body.prompt,
  model: body.model ?? defaultModels.video,
  duration: body.duration ?? videoSeconds.min,
  aspectRatio: (body.aspectRatio ?? '16:9') as AspectRatio,
});

export const readUpscaleRequest = (body: z.infer<typeof upscaleSchema>): UpscaleRequest => ({
  kind: 'upscale',
  scale: body.scale ?? 2,
});

export const readBackgroundRemovalRequest = (): BackgroundRemovalRequest => ({ kind: 'background_removal' });

const exampleUrl = 'https://images.example.com/bicycle.png';

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
  everything: {
    prompt: 'The bicycle rolls away',
    imageUrl: exampleUrl,
    model: 'kling-1.5-pro',
    duration: 7.5,
    aspectRatio: '9:16',
  },
};

export const musicExamples = {
  short: { prompt: 'A calm waltz' },
  everything: { prompt: 'A calm waltz', model: 'stable-audio', duration: 45, bpm: 90 },
};

export const upscaleExamples = {
  short: { imageUrl: exampleUrl },
  everything: { imageUrl: exampleUrl, scale: 4 as const },
};

export const removeBackgroundExamples = { short: { imageUrl: exampleUrl } };

export const enhancePromptExamples = {
  short: { prompt: 'A red bicycle' },
  everything: { prompt: 'A red bicycle', style: 'an old photograph' },
};
