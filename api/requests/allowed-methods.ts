import type { Hono } from 'hono';
import type { ApiEnv } from '../context.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** The methods of the routes at a path; empty when the path does not exist. */
export function allowedMethods(app: Hono<ApiEnv>, path: string): string[] {
  // Middleware matches every method. Only a handler makes a method allowed.
  const served = methods.flatMap((method) => {
    const [handlers] = app.router.match(method === 'HEAD' ? 'GET' : method, path);
    const routes = handlers.flatMap(([[, route]]) => (route.method === 'ALL' ? [] : [route.path]));
    return routes.length > 0 ? [{ method, isExact: routes.includes(path) }] : [];
  });
  // A literal path is never one of the ids that other routes have in its place.
  const exact = served.filter(({ isExact }) => isExact);
  return (exact.length > 0 ? exact : served).map(({ method }) => method);
}
