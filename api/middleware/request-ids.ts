import { randomUUID } from 'node:crypto';
import { createMiddleware } from 'hono/factory';
import type { Log } from '../../src/platform/log.ts';
import type { ApiEnv } from '../surface.ts';

const correlationPattern = /^[A-Za-z0-9._:-]{1,128}$/;

/** Names every request anew, and lets a caller name the operation that it belongs to. */
export const requestIds = (log: Log) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    const requestId = randomUUID();
    const given = c.req.header('x-correlation-id');
    const correlationId = given && correlationPattern.test(given) ? given : randomUUID();
    c.set('requestId', requestId);
    c.set('correlationId', correlationId);
    c.set('log', log.child({ requestId, correlationId }));
    await next();
    c.res.headers.set('X-Request-ID', requestId);
    c.res.headers.set('x-correlation-id', correlationId);
  });
