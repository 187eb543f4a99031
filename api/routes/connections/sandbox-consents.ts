import type { OpenAPIHono } from '@hono/zod-openapi';
import { html } from 'hono/html';
import { AppError } from '../../../src/platform/errors.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiContext, ApiEnv } from '../../context.ts';
import { newRoutes } from '../../new-routes.ts';
import { pageOf, pagePolicy, problem } from '../../pages/html-page.ts';
import { limitedRange } from '../../requests/client-address.ts';
import { limitLookUps } from '../../requests/limit-look-ups.ts';
import { sandboxConsentOperation } from '../../schemas/inbound.ts';

/**
 * Answers a browser at the page of a sandbox provider: it is redirected with the answer, without a page. A request
 * without an open consent counts as a failed authentication of its address.
 * @param answer finds our callback. @throws AppError
 */
export async function sendOn(
  c: ApiContext,
  services: Pick<Services, 'failedAuthentications'>,
  answer: () => Promise<string>,
): Promise<Response> {
  c.header('Cache-Control', 'no-store');
  try {
    return c.redirect(await limitLookUps(c, services)(answer), 302);
  } catch (error) {
    if (error instanceof AppError) services.failedAuthentications.take(limitedRange(c.get('clientAddress')()));
    throw error;
  }
}

/** The providers' page of the sandbox. */
export function sandboxConsentRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const routes = newRoutes();
  routes.openAPIRegistry.registerPath(
    sandboxConsentOperation('/oauth/authorize', 'authorizeSandboxCalendar', 'a calendar'),
  );
  routes.get('/oauth/authorize', (c) =>
    sendOn(c, services, () => services.connections.answerInSandbox(c.req.query('state') ?? '')),
  );
  return routes;
}

const meetingPattern = /^[A-Za-z0-9]{12}$/;

/** The page behind the meeting links of the sandbox. It reads nothing, because there is no meeting. */
export function sandboxMeetingRoutes(): OpenAPIHono<ApiEnv> {
  const routes = newRoutes();
  routes.get('/meet/:code', (c) => {
    c.header('Content-Security-Policy', pagePolicy);
    c.header('Cache-Control', 'no-store');
    c.header('X-Robots-Tag', 'noindex');
    if (!meetingPattern.test(c.req.param('code'))) {
      return c.html(pageOf('Not found', problem('This page does not exist.')), 404);
    }
    const text =
      'This is a meeting of the sandbox. With a live key, the calendar of the host makes a link to a real one.';
    return c.html(pageOf('Meeting', html`<p>${text}</p>`), 200);
  });
  return routes;
}
