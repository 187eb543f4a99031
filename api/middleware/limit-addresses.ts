import { createMiddleware } from 'hono/factory';
import { AddressLimiter } from '../../src/tenancy/address-limiter.ts';
import { type AddressLimits, familiesOfPages, familyOf } from '../../src/tenancy/address-limits.ts';
import { setAnswerHeaders } from '../answer-headers.ts';
import type { ApiEnv } from '../context.ts';
import { limitedRange } from '../requests/client-address.ts';
import { onTokenPages } from './security-headers.ts';

interface BroadLimit {
  /** Requests of one address in a window. */
  max: number;
  windowSeconds: number;
  /** Paths that are never limited. */
  bypass: readonly string[];
}

/** Limits the requests of each address before anything else is checked. Off unless the operator configures it. */
export function limitBroadly({ max, windowSeconds, bypass }: BroadLimit) {
  const limiter = new AddressLimiter(max, windowSeconds);
  return createMiddleware<ApiEnv>((c, next) => {
    if (!bypass.includes(c.req.path)) limiter.take(limitedRange(c.get('clientAddress')()));
    return next();
  });
}

/** Limits the requests of each address for paths of a family. */
export const limitAddresses = (limits: AddressLimits) =>
  createMiddleware<ApiEnv>((c, next) => {
    const family = familyOf(c.req.path);
    if (family && familiesOfPages.has(family)) setAnswerHeaders(c, onTokenPages);
    if (family) limits.take(family, limitedRange(c.get('clientAddress')()));
    return next();
  });
