import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { Services } from '../../../src/services.ts';
import { getGeneration } from '../../../src/studio/generations.ts';
import { historyTypes, listHistory } from '../../../src/studio/history.ts';
import { listModels } from '../../../src/studio/list-models.ts';
import { deleteGeneration } from '../../../src/studio/remove-generations.ts';
import type { ApiEnv } from '../../context.ts';
import { success } from '../../envelopes.ts';
import { requireKey } from '../../middleware/authenticate.ts';
import { newRoutes } from '../../new-routes.ts';
import { operationsOf } from '../../operation.ts';
import { answer, deleted } from '../../schemas/answers.ts';
import { prefixedIdInPath } from '../../schemas/ids.ts';
import { pageQuery } from '../../schemas/pagination.ts';
import { generationExamples, historyExamples } from '../../schemas/studio/examples.ts';
import { modelExamples, modelList, modelListSchema } from '../../schemas/studio/models.ts';
import { generationRecord, generationSchema, historyItem, historySchema } from '../../schemas/studio/records.ts';

const defaultLimit = 20;

const historyQuery = z.object({
  type: z
    .enum(historyTypes)
    .optional()
    .openapi({ param: { name: 'type', in: 'query' } }),
  limit: pageQuery.limit.openapi({ description: `Default ${defaultLimit}.` }),
  offset: pageQuery.offset,
});

export function generationRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Studio', key: requireKey(services, 'studio'), hasDialects: false });

  const get = operation({
    method: 'get',
    path: '/generations/{id}',
    operationId: 'getGeneration',
    'x-client-method': 'studio.generations.get',
    summary: 'Retrieve a generation',
    description: 'Returns a generation of any type and status, failed ones included.',
    params: prefixedIdInPath('id', generationExamples.completed.id),
    answers: {
      200: answer('Returns the generation.', generationSchema, { examples: generationExamples }),
    },
  });
  const remove = operation({
    method: 'delete',
    path: '/generations/{id}',
    operationId: 'deleteGeneration',
    'x-client-method': 'studio.generations.delete',
    summary: 'Delete a generation',
    description:
      'Deletes a generation that has ended, and its file. A generation that has not ended is answered with 409 `conflict`.',
    params: prefixedIdInPath('id', generationExamples.completed.id),
    answers: {
      200: answer('The generation was deleted.', z.object({ deleted: z.literal(true) }), {
        examples: { deleted: { deleted: true as const } },
      }),
    },
    failures: [409],
  });
  const history = operation({
    method: 'get',
    path: '/history',
    operationId: 'listGenerations',
    'x-client-method': 'studio.generations.list',
    summary: 'List completed generations',
    description: 'Completed images, videos and music, newest first.',
    query: historyQuery,
    answers: {
      200: answer('A page of generations.', historySchema, { examples: historyExamples }),
    },
  });
  const models = operation({
    method: 'get',
    path: '/models',
    operationId: 'listMediaModels',
    'x-client-method': 'studio.models.get',
    summary: 'List the models of Studio',
    description: 'Every accepted name, with its limits and its price.',
    answers: {
      200: answer('Returns the models.', modelListSchema, { examples: modelExamples }),
    },
  });

  const sign = (file: string) => services.signedUrls.sign(file);
  const routes = newRoutes();
  routes.openapi(get, async (c) => {
    const scope = c.get('scope');
    const generation = await getGeneration(scope, c.req.valid('param').id);
    services.generationWatch.seen(scope, generation);
    return c.json(success(generationRecord(generation, sign)), 200);
  });
  routes.openapi(remove, async (c) => {
    await deleteGeneration(c.get('scope'), c.req.valid('param').id);
    return c.json(deleted, 200);
  });
  routes.openapi(history, async (c) => {
    const { type, limit = defaultLimit, offset = 0 } = c.req.valid('query');
    const { items, ...page } = await listHistory(c.get('scope'), { type, limit, offset });
    return c.json(success({ items: items.map((item) => historyItem(item, sign)), ...page }), 200);
  });
  routes.openapi(models, async (c) => {
    const { environment } = c.get('scope').tenant;
    return c.json(success(modelList(listModels(services.media, environment))), 200);
  });
  return routes;
}
