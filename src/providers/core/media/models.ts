import { type AspectRatio, aspectRatios } from './aspect-ratios.ts';

/** Providers of media, with their display names. */
export const mediaProviders = { FAL: 'fal', RUNWAY: 'Runway' } as const;
export type MediaProvider = keyof typeof mediaProviders;

export const qualities = ['standard', 'high', 'ultra'] as const;
export type Quality = (typeof qualities)[number];

/** The names of a provider's fields, and how it wants their values. A field that it does not have is absent. */
export interface InputMapping {
  prompt?: 'prompt' | 'promptText';
  /** Without it, the negative prompt is added to the prompt. */
  negativePrompt?: string;
  seed?: string;
  image?: string;
  scale?: string;
  /** `pixels` is `{width, height}`; a table gives the provider's word for each ratio. */
  size?: { field: string; as: 'pixels' | 'ratio' | Readonly<Partial<Record<AspectRatio, string>>> };
  /** `text` is "5", `text_s` is "5s". */
  seconds?: { field: string; as: 'number' | 'text' | 'text_s' };
  /** Sent as they are. */
  params?: Readonly<Record<string, unknown>>;
}

/** Where a request for a model goes. */
export interface Upstream {
  provider: MediaProvider;
  /** The provider's name of the model. */
  upstream: string;
  input: InputMapping;
  /** How long a job usually takes, in seconds. Callers see it, and progress is estimated from it where the provider reports none. */
  typicalSeconds: number;
  /** The date on which the provider will shut it down, YYYY-MM-DD. */
  sunsetAt?: string | undefined;
}

export interface ImageModel extends Upstream {
  kind: 'image';
  ratios: readonly AspectRatio[];
  /** The effect of a quality: another model, or further fields. Never the size. */
  qualities?: Readonly<Partial<Record<Quality, Partial<Pick<Upstream, 'upstream' | 'input'>>>>>;
}

export interface VideoModel extends Upstream {
  kind: 'video';
  ratios: readonly AspectRatio[];
  /** The longest video that callers may request. */
  maxSeconds: number;
  /** Lengths that the provider makes, ascending. Empty: every whole second. */
  offers: readonly number[];
  /** Maximum for the prompt, where the provider takes fewer characters than we do. */
  maxPromptCharacters?: number;
  /** The model for a video that starts with an image, and its field. */
  fromImage: { upstream: string; image: string };
}

export interface MusicModel extends Upstream {
  kind: 'music';
  maxSeconds: number;
}

/** The model behind a kind of work that callers do not choose a model for. */
export interface ToolModel extends Upstream {
  kind: 'upscale' | 'background_removal';
}

export type MediaModel = ImageModel | VideoModel | MusicModel | ToolModel;
export type MediaKind = MediaModel['kind'];
export type ModelTable = ReadonlyMap<string, MediaModel>;

/** The default models of requests that name none. */
export const defaultModels = { image: 'flux-pro-1.1', video: 'runway-gen3', music: 'musicgen' } as const;
/** Names in the table of the models behind tools. */
export const toolModels = { upscale: 'upscale', background_removal: 'remove-bg' } as const;
/** The text model that improves prompts. It is a name of the text models' table. */
export const enhanceModel = 'gemini-2.0-flash';

const pixels = { field: 'image_size', as: 'pixels' } as const;
const ratio = { field: 'aspect_ratio', as: 'ratio' } as const;
const png = { input: { params: { output_format: 'png' } } } as const;
const steps = (count: number) => ({ input: { params: { num_inference_steps: count } } }) as const;

const ultra = {
  upstream: 'fal-ai/flux-pro/v1.1-ultra',
  input: { prompt: 'prompt', size: ratio, seed: 'seed' },
} as const satisfies Partial<Upstream>;

const image = { kind: 'image', provider: 'FAL', ratios: aspectRatios, typicalSeconds: 8 } as const;
const video = { kind: 'video', provider: 'FAL' } as const;
/** No provider serves musicgen any more; stable-audio replaces it. */
const audio = {
  kind: 'music',
  provider: 'FAL',
  typicalSeconds: 20,
  upstream: 'fal-ai/stable-audio-25/text-to-audio',
  input: { prompt: 'prompt', seconds: { field: 'seconds_total', as: 'number' }, seed: 'seed' },
} as const;

const listed: Record<string, MediaModel> = {
  'flux-pro-1.1': {
    ...image,
    upstream: 'fal-ai/flux-pro/v1.1',
    input: { prompt: 'prompt', size: pixels, seed: 'seed' },
    qualities: { high: png, ultra: { ...ultra, input: { ...ultra.input, params: { output_format: 'png' } } } },
  },
  'flux-dev': {
    ...image,
    upstream: 'fal-ai/flux/dev',
    input: { prompt: 'prompt', size: pixels, seed: 'seed' },
    qualities: { high: steps(40), ultra: steps(50) },
  },
  'flux-pro-ultra': { ...image, ...ultra, qualities: { high: png, ultra: png } },
  'recraft-v3': {
    ...image,
    upstream: 'fal-ai/recraft/v3/text-to-image',
    input: { prompt: 'prompt', size: pixels },
  },
  'stable-diffusion-3.5': {
    ...image,
    upstream: 'fal-ai/stable-diffusion-v35-large',
    input: { prompt: 'prompt', negativePrompt: 'negative_prompt', size: pixels, seed: 'seed' },
    qualities: { high: steps(40), ultra: steps(50) },
  },
  'ideogram-v2': {
    ...image,
    ratios: aspectRatios.filter((name) => name !== '21:9'),
    upstream: 'fal-ai/ideogram/v2',
    input: { prompt: 'prompt', negativePrompt: 'negative_prompt', size: ratio, seed: 'seed' },
  },

  'runway-gen3': {
    kind: 'video',
    provider: 'RUNWAY',
    typicalSeconds: 75,
    ratios: ['16:9', '9:16'],
    maxSeconds: 10,
    offers: [],
    maxPromptCharacters: 1_000,
    upstream: 'text_to_video',
    fromImage: { upstream: 'image_to_video', image: 'promptImage' },
    input: {
      prompt: 'promptText',
      size: { field: 'ratio', as: { '16:9': '1280:720', '9:16': '720:1280' } },
      seconds: { field: 'duration', as: 'number' },
      seed: 'seed',
      params: { model: 'gen4.5' },
    },
  },
  'kling-1.5-pro': {
    ...video,
    typicalSeconds: 240,
    ratios: ['16:9', '9:16', '1:1'],
    maxSeconds: 10,
    offers: [5, 10],
    upstream: 'fal-ai/kling-video/v1.5/pro/text-to-video',
    fromImage: { upstream: 'fal-ai/kling-video/v1.5/pro/image-to-video', image: 'image_url' },
    input: { prompt: 'prompt', size: ratio, seconds: { field: 'duration', as: 'text' } },
  },
  'minimax-video': {
    ...video,
    typicalSeconds: 180,
    ratios: ['16:9'],
    maxSeconds: 6,
    offers: [6],
    upstream: 'fal-ai/minimax/video-01',
    fromImage: { upstream: 'fal-ai/minimax/video-01/image-to-video', image: 'image_url' },
    input: { prompt: 'prompt' },
  },
  'luma-dream-machine': {
    ...video,
    typicalSeconds: 60,
    ratios: ['16:9', '9:16', '4:3', '21:9'],
    maxSeconds: 5,
    offers: [5, 9],
    upstream: 'fal-ai/luma-dream-machine/ray-2',
    fromImage: { upstream: 'fal-ai/luma-dream-machine/ray-2/image-to-video', image: 'image_url' },
    input: { prompt: 'prompt', size: ratio, seconds: { field: 'duration', as: 'text_s' } },
  },

  musicgen: { ...audio, maxSeconds: 30 },
  'stable-audio': { ...audio, maxSeconds: 60 },

  [toolModels.upscale]: {
    kind: 'upscale',
    provider: 'FAL',
    typicalSeconds: 15,
    upstream: 'fal-ai/esrgan',
    input: { image: 'image_url', scale: 'scale', params: { output_format: 'png' } },
  },
  [toolModels.background_removal]: {
    kind: 'background_removal',
    provider: 'FAL',
    typicalSeconds: 10,
    upstream: 'fal-ai/birefnet/v2',
    input: { image: 'image_url', params: { output_format: 'png' } },
  },
};

/** The media models of this release, by published name. */
export const mediaModels: ModelTable = new Map(Object.entries(listed));

/** The model of this name and kind; undefined for a name that is not listed for this kind of work. */
export function findModel<Kind extends MediaKind>(
  models: ModelTable,
  kind: Kind,
  name: string,
): Extract<MediaModel, { kind: Kind }> | undefined {
  const model = models.get(name);
  return model?.kind === kind ? (model as Extract<MediaModel, { kind: Kind }>) : undefined;
}

/** The names that requests of a kind may use, in the order of the table. */
export const modelNames = (models: ModelTable, kind: MediaKind): string[] =>
  [...models].filter(([, model]) => model.kind === kind).map(([name]) => name);
