import { getConnInfo } from '@hono/node-server/conninfo';
import { createMiddleware } from 'hono/factory';
import type { AddressRanges } from '../../src/platform/address-ranges.ts';
import { AddressLimiter } from '../../src/tenancy/address-limiter.ts';
import { clientAddress, limitedRange } from '../client-address.ts';
import type { ApiContext, ApiEnv } from '../surface.ts';

/** Where the request came in; a request that never was on a socket came from nowhere. */
const peerOf = (c: ApiContext): string | undefined => (c.env ? getConnInfo(c).remote.address : undefined);

/** Finds out which address a request is from. */
export const findClientAddress = (trusted: AddressRanges) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    c.set(
      'clientAddress',
      clientAddress(peerOf(c), (name) => c.req.header(name), trusted),
    );
    await next();
  });

export interface BroadLimit {
  /** Requests of one address in a window. */
  max: number;
  windowSeconds: number;
  /** Paths that are never limited. */
  bypass: readonly string[];
}

/** Limits every address before anything else is asked. Off unless the operator sets it. */
export function limitBroadly({ max, windowSeconds, bypass }: BroadLimit) {
  const limiter = new AddressLimiter(max, windowSeconds);
  return createMiddleware<ApiEnv>(async (c, next) => {
    if (!bypass.includes(c.req.path)) await limiter.take(limitedRange(c.get('clientAddress')));
    await next();
  });
}
