import type { Hono } from 'hono';
import type { ApiEnv } from './context.ts';

const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];

/** The methods of the routes at a path; empty when the path does not exist. */
export function allowedMethods(app: Hono<ApiEnv>, path: string): string[] {
  // Middleware matches every method. Only a handler makes a method allowed.
  const allowed = methods.filter((method) => {
    const [handlers] = app.router.match(method === 'HEAD' ? 'GET' : method, path);
    return handlers.some(([[, route]]) => route.method !== 'ALL');
  });
  return allowed;
}
