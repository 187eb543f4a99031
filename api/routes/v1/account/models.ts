import type { OpenAPIHono } from '@hono/zod-openapi';
import type { Services } from '../../../../src/services.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { textModelExamples, textModelListSchema } from '../../../schemas/account/models.ts';
import { answer } from '../../../schemas/answers.ts';

export function modelRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Account', key: requireKey(services) });

  const list = operation({
    method: 'get',
    path: '/models',
    operationId: 'listModels',
    'x-client-method': 'models.list',
    summary: 'List the text models',
    description:
      'The names of all models that workflows, chat and agents accept. The models of Studio are at `/api/studio/models`.',
    answers: { 200: answer('Returns the models.', textModelListSchema, { examples: textModelExamples }) },
  });
  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const { environment } = c.get('scope').tenant;
    return c.json(success({ models: services.providers.listModels(environment) }), 200);
  });
  return routes;
}
