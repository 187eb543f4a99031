import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import { html } from 'hono/html';
import { AppError } from '../../../../src/platform/errors.ts';
import {
  beginConnect,
  type ConnectOutcome,
  finishConnect,
} from '../../../../src/scheduling/calendars/connect-calendar.ts';
import type { Services } from '../../../../src/services.ts';
import { limitedRange } from '../../../client-address.ts';
import type { ApiContext, ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { jsonBody } from '../../../middleware/json-body.ts';
import { newRoutes } from '../../../new-routes.ts';
import { answer, failures, jsonContent, keySecurity } from '../../../schemas/answers.ts';
import {
  consentExamples,
  consentSchema,
  newConsentExamples,
  newConsentSchema,
  serviceOf,
} from '../../../schemas/scheduling/calendar-consent.ts';
import { pageOf, pagePolicy, problem } from '../../scheduling/page-html.ts';

const refused: Record<string, string> = {
  access_denied: 'Access to the calendar was refused.',
  exchange_failed: 'The calendar service did not complete the connection. Try again.',
  not_found: 'The host of this calendar does not exist any more.',
  conflict: 'This host has as many calendars as it can have.',
};

/** Where the owner of the account goes, whom the caller told us. */
function withOutcome(redirectUrl: string, outcome: ConnectOutcome): string {
  const url = new URL(redirectUrl);
  const said =
    outcome.error === undefined
      ? { status: 'connected', calendarId: outcome.calendarId }
      : { status: 'error', error: outcome.error };
  for (const [name, value] of Object.entries(said)) url.searchParams.set(name, value);
  return url.href;
}

function page(c: ApiContext, outcome: ConnectOutcome | { error: string }) {
  c.header('Content-Security-Policy', pagePolicy);
  c.header('X-Robots-Tag', 'noindex');
  if (outcome.error === undefined) {
    return c.html(pageOf('Calendar connected', html`<p>You can close this page.</p>`), 200);
  }
  const text = refused[outcome.error] ?? 'The calendar could not be connected.';
  return c.html(pageOf('Calendar not connected', problem(text)), 400);
}

const wantsJson = (accept = '') => /\bapplication\/json\b/i.test(accept) && !/\btext\/html\b/i.test(accept);

export function calendarConsentRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const connect = createRoute({
    method: 'post',
    path: '/calendars/connect',
    tags: ['Scheduling'],
    security: keySecurity('scheduling'),
    operationId: 'connectCalendar',
    summary: 'Connect a calendar',
    description:
      'Send the owner of the account to `authUrl`. The primary calendar is there, and is read at once, as soon as the owner agreed; connecting the same account again renews it. Several requests may be open at the same time. In the sandbox nobody is asked. A live key whose service is not configured is answered with 503 `provider_not_configured`.',
    middleware: [requireKey(services, 'scheduling'), jsonBody()] as const,
    request: { body: { required: true, content: jsonContent(newConsentSchema, newConsentExamples) } },
    responses: {
      200: answer('Returns where to send the owner of the account.', consentSchema, { examples: consentExamples }),
      ...failures(404, 413, 415),
    },
  });

  const routes = newRoutes();
  routes.openapi(connect, async (c) => {
    const given = c.req.valid('json');
    const { hostId, redirectUrl, loginHint } = given;
    const wanted = { service: serviceOf(given), hostId, redirectUrl, loginHint } as const;
    return c.json(success(await beginConnect(services, c.get('scope'), wanted)), 200);
  });

  // For browsers that a calendar service sends back: they have no key, and the state says whose answer it is.
  routes.get('/calendars/callback', async (c) => {
    c.header('Cache-Control', 'no-store');
    // Who only looks uses nothing up.
    if (c.req.method === 'HEAD') return c.body(null, 200);
    try {
      const outcome = await finishConnect(services, new URL(c.req.url).searchParams);
      return outcome.redirectUrl === null
        ? page(c, outcome)
        : c.redirect(withOutcome(outcome.redirectUrl, outcome), 302);
    } catch (error) {
      if (!(error instanceof AppError && error.kind === 'validation_error')) throw error;
      services.failedAuthentications.take(limitedRange(c.get('clientAddress')()));
      if (wantsJson(c.req.header('accept'))) throw error;
      return page(c, { error: 'state' });
    }
  });
  return routes;
}
