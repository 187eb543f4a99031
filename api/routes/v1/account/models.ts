import { createRoute, type OpenAPIHono } from '@hono/zod-openapi';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { textModelExamples, textModelListSchema } from '../../../schemas/account/models.ts';
import { answer, anyKeyFailures, keySecurity } from '../../../schemas/answers.ts';

export function modelRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const list = createRoute({
    method: 'get',
    path: '/models',
    tags: ['Account'],
    security: keySecurity(),
    operationId: 'listModels',
    summary: 'List the text models',
    description:
      'Every name of a model that workflows, chat and agents accept. Those of Studio are at `/api/studio/models`.',
    middleware: [requireKey(services)] as const,
    responses: {
      200: answer('Returns the models.', textModelListSchema, { examples: textModelExamples }),
      ...anyKeyFailures(),
    },
  });
  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const { environment } = c.get('scope').tenant;
    return c.json(success({ models: services.providers.listModels(environment) }), 200);
  });
  return routes;
}
