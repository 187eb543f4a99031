import type { OpenAPIHono } from '@hono/zod-openapi';
import { AppError } from '../../../src/platform/errors.ts';
import type { Services } from '../../../src/services.ts';
import { limitedRange } from '../../client-address.ts';
import type { ApiEnv } from '../../context.ts';
import { newRoutes } from '../../new-routes.ts';

/** The providers' page of the sandbox: it shows nothing, and sends the browser on with the answer. */
export function sandboxConsentRoutes({ connections, failedAuthentications }: Services): OpenAPIHono<ApiEnv> {
  const routes = newRoutes();
  routes.get('/oauth/authorize', async (c) => {
    c.header('Cache-Control', 'no-store');
    try {
      return c.redirect(await connections.answerInSandbox(c.req.query('state') ?? ''), 302);
    } catch (error) {
      if (error instanceof AppError) failedAuthentications.take(limitedRange(c.get('clientAddress')()));
      throw error;
    }
  });
  return routes;
}
