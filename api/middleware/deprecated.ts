import { createMiddleware } from 'hono/factory';
import type { Services } from '../../src/services.ts';
import type { ApiEnv } from '../context.ts';
import { routeTemplate } from '../route-template.ts';

export interface Deprecation {
  /** `YYYY-MM-DD`, the day from which the route may be gone: twelve months after its announcement at the earliest. */
  sunset: string;
}

/**
 * Says with every answer of a route that it will go, and writes down which organizations use it, for the mail of
 * `deprecation announce`. Stands before the route's key.
 */
export const deprecated = ({ deprecatedUses }: Pick<Services, 'deprecatedUses'>, { sunset }: Deprecation) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    c.header('X-API-Deprecated', sunset);
    await next();
    const caller = c.get('caller');
    if (!caller) return;
    const use = { route: `${c.req.method} ${routeTemplate(c)}`, sunset };
    deprecatedUses
      .record(caller.organizationId, use, Date.now())
      .catch((error) => c.get('log').warn({ err: error }, 'the use of a deprecated route was not written down'));
  });
