import { bodyLimit } from 'hono/body-limit';
import { createMiddleware } from 'hono/factory';
import { AppError, invalid } from '../../src/platform/errors.ts';
import { dropAnswerHeaders } from '../answer-headers.ts';
import type { ApiContext, ApiEnv } from '../context.ts';
import { statusOf } from '../envelopes.ts';
import { framedPolicy, type Html, pageOf, pagePolicy, problem, scriptedPolicy } from './html-page.ts';

// Pages with a form for people without a key: of bookings, of approvals, and those on which attendees book. Their
// prefix determines the limits of addresses and the headers that prevent caching.

/** Allows only the style that a page uses and the target of its form. */
export const asPage = createMiddleware<ApiEnv>((c, next) => {
  c.header('Content-Security-Policy', pagePolicy);
  return next();
});

/** Lets a page load scripts of our own. */
export const allowScripts = (c: ApiContext): void => c.header('Content-Security-Policy', scriptedPolicy);

/** Lets pages of these origins embed this one in a frame. @param origins in the form of the header */
export function allowFrames(c: ApiContext, origins: readonly string[]): void {
  if (origins.length === 0) return;
  // It has no list of origins; the policy is what browsers follow that know both.
  dropAnswerHeaders(c, ['X-Frame-Options']);
  c.header('Content-Security-Policy', framedPolicy(origins));
}

export const answerPage = (
  c: ApiContext,
  title: string,
  content: Html,
  status: ReturnType<typeof statusOf> | 200 = 200,
) => c.html(pageOf(title, content), status);

/** Shows an expected error to the reader. What fails unexpectedly is answered and logged as everywhere. */
export function showError(error: Error, c: ApiContext) {
  if (!(error instanceof AppError)) throw error;
  if (error.retryAfter !== undefined) c.header('Retry-After', String(error.retryAfter));
  const title = error.kind === 'not_found' ? 'Not found' : 'Not possible';
  return answerPage(c, title, problem(error.message), statusOf(error));
}

/** Refuses forms of other sites, and forms of more bytes. */
export const formChecks = (maxBytes: number) =>
  [
    createMiddleware<ApiEnv>(async (c, next) => {
      if (c.req.header('sec-fetch-site') === 'cross-site') {
        throw new AppError('forbidden', 'Forms of other sites are not accepted.');
      }
      await next();
    }),
    bodyLimit({
      maxSize: maxBytes,
      onError: () => {
        throw new AppError('payload_too_large', 'The form is too large.', { maxBytes });
      },
    }),
  ] as const;

/**
 * The fields of a form that was sent.
 * @throws AppError unsupported_media_type; validation_error where it has more fields, before they are read
 */
export async function readForm(c: ApiContext, maxFields: number): Promise<URLSearchParams> {
  const type = c.req.header('content-type') ?? '';
  if (!/^application\/x-www-form-urlencoded\b/i.test(type)) {
    throw new AppError('unsupported_media_type', 'Send the form of the page.');
  }
  const text = await c.req.text();
  if (text.split('&', maxFields + 1).length > maxFields) {
    throw invalid([], 'The form has more fields than that of the page.');
  }
  return new URLSearchParams(text);
}

/** A text that was typed in a form. */
export const typedText = (fields: URLSearchParams, name: string): string =>
  fields.get(name)?.replaceAll('\r\n', '\n').replaceAll('\0', '').trim() ?? '';
