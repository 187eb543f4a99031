import { setAnswerHeaders } from '../answer-headers.ts';
import type { ApiContext } from '../context.ts';

/** Longer than any origin: a scheme, a name of a host and a port. */
const maxOriginLength = 300;
/** How long browsers remember the answer to a preflight, in seconds. */
const maxAge = 600;

const allowedHeaders = ['authorization', 'content-type', 'idempotency-key', 'last-event-id'];
/** Our client sends it with every request, because it reads one dialect. Preflights that ask for it get permission. */
const variantHeader = 'x-api-variant';
const exposedHeaders = [
  'X-Request-ID',
  'Retry-After',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
].join(', ');

/** Lets pages of an origin read the answer. Credentials of the browser are never allowed. */
export function admitOrigin(c: ApiContext, origin: string): void {
  if (origin.length > maxOriginLength) return;
  setAnswerHeaders(c, {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Expose-Headers': exposedHeaders,
    Vary: 'Origin',
  });
}

const names = (header: string): string[] => header.split(',').map((name) => name.trim().toLowerCase());

interface Preflight {
  /** The origin that asks. */
  origin: string;
  /** The headers that it wants to send, in lower case. */
  wanted: readonly string[];
}

/** The preflight of a request with a token; undefined for any other request. */
function preflightOf(c: ApiContext): Preflight | undefined {
  const origin = c.req.header('origin');
  const headers = c.req.header('access-control-request-headers');
  const isPreflight = c.req.method === 'OPTIONS' && c.req.header('access-control-request-method') !== undefined;
  if (!isPreflight || origin === undefined || headers === undefined || origin.length > maxOriginLength)
    return undefined;
  const wanted = names(headers);
  return wanted.includes('authorization') ? { origin, wanted } : undefined;
}

/**
 * The answer to a preflight of a request that will carry a token. Whose token it is a preflight does not say, so every
 * origin gets the same answer. @returns undefined for any other request
 */
export function answerPreflight(c: ApiContext, methods: readonly string[]): Response | undefined {
  const asked = preflightOf(c);
  if (!asked) return undefined;
  const { origin, wanted } = asked;
  const allowed = wanted.includes(variantHeader) ? [...allowedHeaders, variantHeader] : allowedHeaders;
  return c.body(null, 204, {
    'Access-Control-Allow-Origin': origin,
    'Access-Control-Allow-Methods': methods.join(', '),
    'Access-Control-Allow-Headers': allowed.join(', '),
    'Access-Control-Max-Age': String(maxAge),
    Vary: 'Origin',
  });
}
