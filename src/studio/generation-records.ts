// The records of completed generations, as endpoints and steps of workflows return them.
import { formatId } from './core/ids.ts';
import type { GenerationDetail } from './generations.ts';

/** Makes the address of a stored file. */
export type Sign = (file: string) => string;

/** Encoders pad music: its length is given to the hundredth. */
export const hundredths = (seconds: number) => Math.round(seconds * 100) / 100;

export const idOf = ({ id, request }: GenerationDetail) => formatId(request.kind, id);

export function imageRecord(image: GenerationDetail, sign: Sign) {
  const { request, file, width, height, seed, credits, createdAt } = image;
  if (request.kind !== 'image') throw new Error('The generation is not an image.');
  return {
    id: idOf(image),
    url: sign(file!),
    prompt: request.prompt,
    model: request.model,
    aspectRatio: request.aspectRatio,
    width: width!,
    height: height!,
    seed,
    creditsUsed: credits!,
    createdAt: createdAt.toISOString(),
  };
}

export const musicRecord = (music: GenerationDetail, sign: Sign) => ({
  id: idOf(music),
  url: sign(music.file!),
  duration: hundredths(music.seconds!),
  format: 'mp3' as const,
  creditsUsed: music.credits!,
});

/** The sizes of an image that was enlarged, and of the result. */
export function enlargement({ request, image, width, height }: GenerationDetail) {
  if (request.kind !== 'upscale') throw new Error('The generation is not an enlargement.');
  return {
    originalWidth: image!.width,
    originalHeight: image!.height,
    newWidth: width!,
    newHeight: height!,
    scale: request.scale,
  };
}

export const upscaleRecord = (upscaled: GenerationDetail, sign: Sign) => ({
  id: idOf(upscaled),
  url: sign(upscaled.file!),
  ...enlargement(upscaled),
  creditsUsed: upscaled.credits!,
});

export const cutOutRecord = (cutOut: GenerationDetail, sign: Sign) => ({
  id: idOf(cutOut),
  url: sign(cutOut.file!),
  format: 'png' as const,
  hasTransparency: cutOut.hasTransparency!,
  creditsUsed: cutOut.credits!,
});

export const completedVideoRecord = (video: GenerationDetail, sign: Sign) => ({
  id: idOf(video),
  status: 'completed' as const,
  url: sign(video.file!),
  duration: hundredths(video.seconds!),
  width: video.width!,
  height: video.height!,
  creditsUsed: video.credits!,
});
