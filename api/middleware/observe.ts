import { createMiddleware } from 'hono/factory';
import { requestMessage } from '../../src/platform/log-destination.ts';
import type { Metrics } from '../../src/platform/metrics.ts';
import type { ApiEnv } from '../context.ts';
import { isProbe } from '../probes.ts';
import { routeTemplate } from '../route-template.ts';

/** Counts every request and logs one line about it when its answer starts. */
export const observe = (metrics: Metrics) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    const began = performance.now();
    await next();
    const ms = performance.now() - began;
    const { method } = c.req;
    const route = routeTemplate(c);
    const { status } = c.res;
    metrics.requestAnswered({ method, route, status, seconds: ms / 1000 });
    const caller = c.get('caller');
    const line = {
      ...{ method, route, status, ms: Math.round(ms * 10) / 10 },
      ...(caller && { organizationId: caller.organizationId, environment: caller.environment, keyId: caller.keyId }),
    };
    if (isProbe(route) && status < 400) c.get('log').debug(line, requestMessage);
    else c.get('log').info(line, requestMessage);
  });
