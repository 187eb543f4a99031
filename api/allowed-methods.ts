import type { Hono } from 'hono';
import type { ApiEnv } from './context.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** The methods that a path has a route for; none means that there is no such path. */
export function allowedMethods(app: Hono<ApiEnv>, path: string): string[] {
  // A middleware matches every method; only a handler that ends the chain makes a method allowed.
  const allowed = methods.filter((method) => {
    const [handlers] = app.router.match(method === 'HEAD' ? 'GET' : method, path);
    return handlers.some(([[, route]]) => route.method !== 'ALL');
  });
  return allowed;
}
