import type { GenerationRequest } from '../../providers/core/media/requests.ts';
import { generationPrice, videoPrice } from './prices.ts';

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
