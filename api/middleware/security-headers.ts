import { createMiddleware } from 'hono/factory';
import type { ApiEnv } from '../context.ts';

/**
 * Answers of the API are data: browsers must not execute them, show them in a frame or guess their type. Only answers to
 * tokens of browsers have CORS headers: pages of other origins cannot read any other.
 */
export const onEveryAnswer = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

/** Headers in addition to those of every answer, if the path has a token: such a page must not be cached or indexed. */
export const onTokenPages = { 'Cache-Control': 'no-store', 'X-Robots-Tag': 'noindex' } as const;

/** The policy of the reference page: scripts, styles and requests of its own origin only. */
const ofPages = [
  "default-src 'none'",
  "script-src 'self'",
  // The page creates styles at run time.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

export const pageSecurity = createMiddleware<ApiEnv>((c, next) => {
  c.header('Content-Security-Policy', ofPages);
  return next();
});
