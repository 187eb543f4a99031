import { startedUnits } from '../../credits/core/started-units.ts';
import type { GenerationRequest } from '../../providers/core/media/requests.ts';

/** In credits. Prompt enhancement costs nothing. */
export const studioPrices = {
  image: { standard: 1, high: 2, ultra: 5 },
  videoPerSecond: 5,
  musicPer10Seconds: 3,
  upscale: { 2: 1, 4: 2 },
  backgroundRemoval: 1,
} as const;

/** The price of a video in whole credits. */
const videoPrice = (seconds: number): number => studioPrices.videoPerSecond * startedUnits(seconds, 1);

/** The price of the request, in whole credits. */
export function generationPrice(request: GenerationRequest): number {
  switch (request.kind) {
    case 'image':
      return studioPrices.image[request.quality];
    case 'upscale':
      return studioPrices.upscale[request.scale];
    case 'background_removal':
      return studioPrices.backgroundRemoval;
    case 'video':
      return videoPrice(request.duration);
    case 'music':
      return studioPrices.musicPer10Seconds * startedUnits(request.duration, 10);
  }
}

/**
 * The credits that a generation costs: a video costs its started seconds, up to the reserved credits; everything else
 * costs what the request says.
 * @param seconds of the video that was delivered
 */
export function settledCredits(request: GenerationRequest, seconds: number | null): number {
  const reserved = generationPrice(request);
  if (request.kind !== 'video' || seconds === null) return reserved;
  return Math.min(reserved, videoPrice(seconds));
}
