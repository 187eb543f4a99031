import { matchedRoutes } from 'hono/route';
import type { RouterRoute } from 'hono/types';
import type { ApiContext } from '../context.ts';
import { secretSegment } from './trigger-path.ts';

/** The template of a request without a route. */
export const unmatched = 'unmatched';

const secretOfRoute = new RegExp(`/${secretSegment}$`);

const templates = new Map<string, string>();

/** The route of a request as the document writes it, `/api/v1/workflows/{id}`; `unmatched` where there is none. */
export const routeTemplate = (c: ApiContext): string => templateOf(matchedRoutes(c));

/** The same for the result of the router. */
export function templateOf(routes: readonly Pick<RouterRoute, 'method' | 'path'>[]): string {
  // Middleware matches every method. A handler of one method is the route.
  const path = routes.findLast(({ method }) => method !== 'ALL')?.path;
  if (path === undefined) return unmatched;
  let template = templates.get(path);
  if (template === undefined) {
    template = path.replaceAll(/:(\w+)/g, '{$1}').replace(secretOfRoute, '/{secret}');
    templates.set(path, template);
  }
  return template;
}
