import type { AspectRatio } from './aspect-ratios.ts';
import { findModel, type MediaKind, type ModelTable, modelNames, type Quality, toolModels } from './models.ts';

/** A request for a generation, with its defaults filled in. Absent values are null. Images travel separately. */
export type GenerationRequest = ImageRequest | VideoRequest | MusicRequest | UpscaleRequest | BackgroundRemovalRequest;

export interface ImageRequest {
  kind: 'image';
  prompt: string;
  negativePrompt: string | null;
  model: string;
  aspectRatio: AspectRatio;
  quality: Quality;
  seed: number | null;
}

export interface VideoRequest {
  kind: 'video';
  prompt: string;
  model: string;
  /** In seconds. */
  duration: number;
  aspectRatio: AspectRatio;
}

export interface MusicRequest {
  kind: 'music';
  prompt: string;
  model: string;
  /** In seconds. */
  duration: number;
  /** Beats per minute. */
  bpm: number | null;
}

export interface UpscaleRequest {
  kind: 'upscale';
  scale: 2 | 4;
}

export interface BackgroundRemovalRequest {
  kind: 'background_removal';
}

/** Limits of what callers send. Texts are counted in code points. */
export const requestLimits = {
  promptCharacters: 4_000,
  negativePromptCharacters: 2_000,
  styleCharacters: 200,
  imageUrlCharacters: 8_192,
  seed: 4_294_967_295,
  videoSeconds: { min: 5, max: 10 },
  musicSeconds: { min: 10, max: 60 },
  bpm: { min: 40, max: 240 },
} as const;

/** Limits of input images, and of the results, in pixels. */
export const pixelLimits = { input: 40_000_000, output: 64_000_000 } as const;

/** A request that describes its result in words alone. */
export type PromptedRequest = ImageRequest | VideoRequest | MusicRequest;

/** The name of the model in the table: that which the request names, or the one behind its kind of work. */
export const modelOf = (request: GenerationRequest): string =>
  'model' in request ? request.model : toolModels[request.kind];

/** One fault of a request: the field, and a sentence for its author. */
export interface Problem {
  path: string;
  message: string;
}

/** The length of a text as it is limited and priced. */
export const codePoints = (text: string): number => {
  let count = 0;
  for (const _ of text) count++;
  return count;
};

const listOf = (names: readonly string[]) => names.join(', ');

/** The checks of a request that no schema makes: whether its model is listed, and makes the requested kind. */
export function problemsOf(request: GenerationRequest, models: ModelTable): Problem[] {
  switch (request.kind) {
    case 'image':
      return inModel(models, request, ({ ratios }) => ratioProblems(request, ratios));
    case 'video':
      return inModel(models, request, ({ ratios, maxSeconds, maxPromptCharacters }) => [
        ...promptProblems(request, maxPromptCharacters),
        ...durationProblems(request, requestLimits.videoSeconds.min, maxSeconds),
        ...ratioProblems(request, ratios),
      ]);
    case 'music':
      return inModel(models, request, ({ maxSeconds }) =>
        durationProblems(request, requestLimits.musicSeconds.min, maxSeconds),
      );
    default:
      return [];
  }
}

/**
 * The problems of a body that does not match its schema, by the table of models, field by field: the author gets every
 * problem at once, with the limits of the named model.
 * @param fallback the model where the body names none
 */
export function problemsOfBody(
  kind: 'image' | 'video' | 'music',
  body: Readonly<Record<string, unknown>>,
  models: ModelTable,
  fallback: string,
): Problem[] {
  const { model = fallback, aspectRatio, duration, prompt } = body;
  if (typeof model !== 'string') return [];
  const entry = findModel(models, kind, model);
  if (!entry) return [{ path: 'model', message: `Must be one of ${listOf(modelNames(models, kind))}.` }];
  const problems: Problem[] = [];
  if ('ratios' in entry && typeof aspectRatio === 'string') {
    problems.push(...ratioProblems({ model, aspectRatio: aspectRatio as AspectRatio }, entry.ratios));
  }
  if ('maxSeconds' in entry && typeof duration === 'number') {
    const { min } = kind === 'video' ? requestLimits.videoSeconds : requestLimits.musicSeconds;
    problems.push(...durationProblems({ model, duration }, min, entry.maxSeconds));
  }
  if ('maxPromptCharacters' in entry && typeof prompt === 'string') {
    problems.push(...promptProblems({ model, prompt }, entry.maxPromptCharacters));
  }
  return problems;
}

function inModel<Kind extends MediaKind & ('image' | 'video' | 'music')>(
  models: ModelTable,
  { kind, model: name }: { kind: Kind; model: string },
  check: (model: NonNullable<ReturnType<typeof findModel<Kind>>>) => Problem[],
): Problem[] {
  const model = findModel(models, kind, name);
  if (model) return check(model);
  return [{ path: 'model', message: `Must be one of ${listOf(modelNames(models, kind))}.` }];
}

const ratioProblems = (
  { model, aspectRatio }: { model: string; aspectRatio: AspectRatio },
  ratios: readonly AspectRatio[],
): Problem[] =>
  ratios.includes(aspectRatio)
    ? []
    : [{ path: 'aspectRatio', message: `Must be one of ${listOf(ratios)} for the model ${model}.` }];

const durationProblems = (
  { model, duration }: { model: string; duration: number },
  min: number,
  max: number,
): Problem[] =>
  duration >= min && duration <= max
    ? []
    : [{ path: 'duration', message: `Must be ${min} to ${max} seconds for the model ${model}.` }];

const promptProblems = ({ model, prompt }: { model: string; prompt: string }, max: number | undefined): Problem[] =>
  max === undefined || codePoints(prompt) <= max
    ? []
    : [{ path: 'prompt', message: `Must have at most ${max} characters for the model ${model}.` }];

/** The size of an upscaled image. @returns a problem when it would be too large */
export function upscaledSize(
  { width, height }: { width: number; height: number },
  scale: 2 | 4,
): { width: number; height: number } | Problem {
  const size = { width: width * scale, height: height * scale };
  if (size.width * size.height <= pixelLimits.output) return size;
  const megapixels = pixelLimits.output / 1_000_000;
  return { path: 'scale', message: `The result would have more than ${megapixels} megapixels.` };
}

/**
 * The text that determines the sandbox's result for a request, and whether two requests are the same: the published
 * fields with their defaults filled in, and the SHA-256 of the image. Neither the caller nor the time is part of it.
 * @param imageSha256 in hex, of requests with an image
 */
export function canonicalRequest(request: GenerationRequest, imageSha256: string | null = null): string {
  const fields = Object.entries(request).sort(([one], [other]) => (one < other ? -1 : 1));
  return JSON.stringify([...fields, ['image', imageSha256]]);
}

/** The seed of a sandbox request that names none. @param digest of its canonical request, at least 4 bytes */
export const seedOf = (digest: Uint8Array): number => new DataView(digest.buffer, digest.byteOffset).getUint32(0);
