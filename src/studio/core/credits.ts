import { priceOf, type Work } from '../../credits/core/pricing.ts';
import type { GenerationRequest } from '../../providers/core/media/requests.ts';

function workOf(request: GenerationRequest): Work {
  switch (request.kind) {
    case 'image':
      return { operation: 'image', quality: request.quality };
    case 'upscale':
      return { operation: 'upscale', scale: request.scale };
    case 'background_removal':
      return { operation: 'background_removal' };
    case 'video':
    case 'music':
      return { operation: request.kind, seconds: request.duration };
  }
}

/** Credits that a request reserves before its work begins: the price of what was asked. */
export const reservedCredits = (request: GenerationRequest): number => priceOf(workOf(request));

/**
 * Credits that a generation costs: a video by its started seconds, never more than was reserved; everything else by what
 * was asked.
 * @param seconds of the video that was delivered
 */
export function settledCredits(request: GenerationRequest, seconds: number | null): number {
  const reserved = reservedCredits(request);
  if (request.kind !== 'video' || seconds === null) return reserved;
  return Math.min(reserved, priceOf({ operation: 'video', seconds }));
}
