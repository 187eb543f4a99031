import type { OpenAPIHono } from '@hono/zod-openapi';
import { maxHits, search } from '../../../../src/operations/search.ts';
import { AppError } from '../../../../src/platform/errors.ts';
import type { Services } from '../../../../src/services.ts';
import type { Caller } from '../../../../src/tenancy/caller.ts';
import type { ApiEnv } from '../../../context.ts';
import { idFor } from '../../../dialects/variants.ts';
import { success } from '../../../envelopes.ts';
import { checkScopes, requireKey } from '../../../middleware/authenticate.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { hitsExamples, hitsSchema, searchQuery } from '../../../schemas/account/search.ts';
import { answer } from '../../../schemas/answers.ts';

function hasScope(caller: Caller, scope: string): boolean {
  try {
    checkScopes(caller, { scopes: [scope] });
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

/** One search over the resources of all features. */
export function searchRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const operation = operationsOf({ tag: 'Account', key: requireKey(services) });
  const list = operation({
    method: 'get',
    path: '/search',
    operationId: 'search',
    'x-client-method': 'search.list',
    summary: 'Search',
    description: `Finds resources with this id or correlation id, workflows and event types with this text in their names, and bookings of attendees with this address. Returns at most ${maxHits} hits; hits by id come first. A kind of resource is searched only with the scope that reads it.`,
    query: searchQuery,
    answers: { 200: answer('Returns the hits.', hitsSchema, { examples: hitsExamples }) },
  });
  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const caller = c.get('caller');
    const hits = await search(c.get('scope'), c.req.valid('query').q, (scope) => hasScope(caller, scope));
    const { variant } = c.get('dialect');
    const shown = hits.map(({ type, id, title, at, parentId }) => ({
      type,
      id: idFor(variant, id),
      title,
      at: at.toISOString(),
      ...(parentId !== undefined && { parentId: idFor(variant, parentId) }),
    }));
    return c.json(success({ hits: shown }), 200);
  });
  return routes;
}
