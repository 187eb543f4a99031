import { matchedRoutes } from 'hono/route';
import type { ApiContext } from './context.ts';

/** The template of a request without a route. */
export const unmatched = 'unmatched';

const templates = new Map<string, string>();

/** The route of a request as the document writes it, `/api/v1/workflows/{id}`; `unmatched` where there is none. */
export function routeTemplate(c: ApiContext): string {
  // Middleware matches every method. What is registered for one method is the route.
  const path = matchedRoutes(c).findLast(({ method }) => method !== 'ALL')?.path;
  if (path === undefined) return unmatched;
  let template = templates.get(path);
  if (template === undefined) {
    template = path.replaceAll(/:(\w+)/g, '{$1}');
    templates.set(path, template);
  }
  return template;
}
