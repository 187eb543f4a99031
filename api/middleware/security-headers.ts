import { createMiddleware } from 'hono/factory';
import type { ApiEnv } from '../context.ts';

/**
 * An answer of the API is data: nothing in it is to be run, shown in a frame or guessed at. Other origins' pages get
 * nothing: no answer has a CORS header.
 */
export const onEveryAnswer = {
  'X-Content-Type-Options': 'nosniff',
  'X-Frame-Options': 'DENY',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
} as const;

/** For a page of ours: its own scripts, styles and requests, and nothing from elsewhere. */
const ofPages = [
  "default-src 'none'",
  "script-src 'self'",
  // The page makes its styles itself.
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
