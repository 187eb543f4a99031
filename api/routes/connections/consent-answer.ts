import { html } from 'hono/html';
import { AppError } from '../../../src/platform/errors.ts';
import type { Services } from '../../../src/services.ts';
import type { LimitLookUp } from '../../../src/tenancy/failed-authentications.ts';
import type { ApiContext } from '../../context.ts';
import { pageOf, pagePolicy, problem } from '../../pages/html-page.ts';
import { limitedRange } from '../../requests/client-address.ts';
import { limitLookUps } from '../../requests/limit-look-ups.ts';

/** How a consent ended. */
export interface ConsentOutcome {
  /** Where the owner of the account goes; null where the request named no place. */
  redirectUrl: string | null;
  /** Undefined for access that was granted. */
  error?: string | undefined;
  /** Other facts about the error, if the page has words for it. */
  reason?: string | undefined;
  /** The other parameters of the address. */
  facts?: Readonly<Record<string, string>>;
}

/** The texts of a feature's pages. */
export interface ConsentWords {
  connected: string;
  notConnected: string;
  /** By error. */
  reasons: Readonly<Record<string, string>>;
  /** The reason shown for every other error. */
  otherReason: string;
}

const wantsJson = (accept = '') => /\bapplication\/json\b/i.test(accept) && !/\btext\/html\b/i.test(accept);

function withOutcome(redirectUrl: string, { error, facts }: ConsentOutcome): string {
  const url = new URL(redirectUrl);
  const said = error === undefined ? { status: 'connected' } : { status: 'error', error };
  for (const [name, value] of Object.entries({ ...facts, ...said })) url.searchParams.set(name, value);
  return url.href;
}

function page(c: ApiContext, error: string | undefined, words: ConsentWords) {
  c.header('Content-Security-Policy', pagePolicy);
  c.header('X-Robots-Tag', 'noindex');
  if (error === undefined) return c.html(pageOf(words.connected, html`<p>You can close this page.</p>`), 200);
  return c.html(pageOf(words.notConnected, problem(words.reasons[error] ?? words.otherReason)), 400);
}

/**
 * Answers a browser that a provider sent back: it has no key, and the state identifies its consent. An answer without a
 * matching consent is never a redirect, and shows no sent data.
 * @param finish takes the query, and limits how its state is looked up. @throws AppError validation_error where it answers
 *   nothing that is open
 */
export async function answerConsent(
  c: ApiContext,
  services: Pick<Services, 'failedAuthentications'>,
  {
    words,
    finish,
  }: { words: ConsentWords; finish(query: URLSearchParams, limit: LimitLookUp): Promise<ConsentOutcome> },
): Promise<Response> {
  c.header('Cache-Control', 'no-store');
  // Viewing the page does not use up the state.
  if (c.req.method === 'HEAD') return c.body(null, 200);
  try {
    const outcome = await finish(new URL(c.req.url).searchParams, limitLookUps(c, services));
    return outcome.redirectUrl === null
      ? page(c, outcome.error && (outcome.reason ?? outcome.error), words)
      : c.redirect(withOutcome(outcome.redirectUrl, outcome), 302);
  } catch (error) {
    if (!(error instanceof AppError && error.kind === 'validation_error')) throw error;
    services.failedAuthentications.take(limitedRange(c.get('clientAddress')()));
    if (wantsJson(c.req.header('accept'))) throw error;
    return page(c, 'state', words);
  }
}
