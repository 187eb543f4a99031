import { createMiddleware } from 'hono/factory';
import { clock } from '../../src/platform/clock.ts';
import type { Services } from '../../src/services.ts';
import type { ApiEnv } from '../context.ts';
import { requestLog } from '../requests/request-log.ts';
import { routeTemplate } from '../requests/route-template.ts';

interface Deprecation {
  /** `YYYY-MM-DD`, the earliest day of the route's removal: at least twelve months after its announcement. */
  sunset: string;
}

/**
 * Marks every answer of a route as deprecated, and records which organizations use it, for the mail of
 * `deprecation announce`. Comes before the route's `requireKey`.
 */
export const deprecated = ({ deprecatedUses }: Pick<Services, 'deprecatedUses'>, { sunset }: Deprecation) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    c.header('X-API-Deprecated', sunset);
    await next();
    const caller = c.get('caller');
    if (!caller) return;
    const use = { route: `${c.req.method} ${routeTemplate(c)}`, sunset };
    deprecatedUses
      .record(caller.organizationId, use, clock.now())
      .catch((error) => requestLog(c).warn({ err: error }, 'the use of a deprecated route was not recorded'));
  });
