import type { GenerationRequest } from '../../providers/core/media/requests.ts';
import { generationPrice, videoPrice } from './prices.ts';

/**
 * Credits that a generation costs: a video by its started seconds, never more than was reserved; everything else by what
 * was asked.
 * @param seconds of the video that was delivered
 */
export function settledCredits(request: GenerationRequest, seconds: number | null): number {
  const reserved = generationPrice(request);
  if (request.kind !== 'video' || seconds === null) return reserved;
  return Math.min(reserved, videoPrice(seconds));
}
