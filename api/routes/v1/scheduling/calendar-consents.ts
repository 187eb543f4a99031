import type { OpenAPIHono } from '@hono/zod-openapi';
import { beginConnect, finishConnect } from '../../../../src/scheduling/calendars/connect-calendar.ts';
import type { Services } from '../../../../src/services.ts';
import type { LimitLookUp } from '../../../../src/tenancy/failed-authentications.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { answer, jsonContent } from '../../../schemas/answers.ts';
import { consentSchema } from '../../../schemas/connections.ts';
import { callbackOperation } from '../../../schemas/inbound.ts';
import {
  consentExamples,
  newConsentExamples,
  newConsentSchema,
  serviceOf,
} from '../../../schemas/scheduling/calendar-consent.ts';
import { answerConsent, type ConsentOutcome, type ConsentWords } from '../../connections/consent-answer.ts';

const words: ConsentWords = {
  connected: 'Calendar connected',
  notConnected: 'Calendar not connected',
  reasons: {
    access_denied: 'Access to the calendar was refused.',
    exchange_failed: 'The calendar service did not complete the connection. Try again.',
    not_found: 'The host of this calendar no longer exists.',
    conflict: 'This host has as many calendars as it can have.',
  },
  otherReason: 'The calendar could not be connected.',
};

async function finish(services: Services, query: URLSearchParams, limit: LimitLookUp): Promise<ConsentOutcome> {
  const { redirectUrl, ...outcome } = await finishConnect(services, query, limit);
  if (outcome.error !== undefined) return { redirectUrl, error: outcome.error };
  return { redirectUrl, facts: { calendarId: outcome.calendarId } };
}

export function calendarConsentRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Scheduling', key: requireKey(services, 'scheduling') });

  const connect = operation({
    method: 'post',
    path: '/calendars/connect',
    operationId: 'connectCalendar',
    'x-client-method': 'scheduling.calendars.connect',
    summary: 'Connect a calendar',
    description:
      'Send the owner of the account to `authUrl`. The primary calendar is connected, and its first sync begins, when the owner agrees; connecting the same account again renews it. Several requests may be open at the same time. In the sandbox no consent is needed. A live key whose service is not configured is answered with 503 `provider_not_configured`.',
    body: jsonContent(newConsentSchema, newConsentExamples),
    answers: {
      200: answer('Returns where to send the owner of the account.', consentSchema, { examples: consentExamples }),
    },
    failures: [404],
  });

  const routes = newRoutes();
  routes.openapi(connect, async (c) => {
    const given = c.req.valid('json');
    const { hostId, redirectUrl, loginHint } = given;
    const wanted = { service: serviceOf(given), hostId, redirectUrl, loginHint } as const;
    return c.json(success(await beginConnect(services, c.get('scope'), wanted)), 200);
  });

  routes.openAPIRegistry.registerPath(
    callbackOperation('/calendars/callback', 'completeCalendarConsent', 'a calendar'),
  );
  routes.get('/calendars/callback', (c) =>
    answerConsent(c, services, { words, finish: (query, limit) => finish(services, query, limit) }),
  );
  return routes;
}
