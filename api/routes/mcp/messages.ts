import type { OpenAPIHono } from '@hono/zod-openapi';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { createMiddleware } from 'hono/factory';
import type { Build } from '../../../src/operations/inspect.ts';
import { AppError } from '../../../src/platform/errors.ts';
import type { Services } from '../../../src/services.ts';
import type { ApiEnv } from '../../context.ts';
import { requireKey } from '../../middleware/authenticate.ts';
import { jsonBody } from '../../middleware/json-body.ts';
import { keysAlone } from '../../middleware/keys-alone.ts';
import { newRoutes } from '../../new-routes.ts';
import { rpcCodes } from './envelope.ts';
import { ownRequest } from './own-request.ts';
import { serverFor } from './server.ts';
import type { Exchange } from './tool.ts';

const rpcError = (id: unknown, code: number, message: string) => ({ jsonrpc: '2.0', id, error: { code, message } });

/** A page of another origin must not speak with the server, whatever key it may have. Programs send no Origin. */
const ownOrigin = (publicUrl: string) => {
  const own = new URL(publicUrl).origin;
  return createMiddleware<ApiEnv>((c, next) => {
    const origin = c.req.header('origin');
    if (origin !== undefined && origin !== own) throw new AppError('forbidden', 'Requests of this origin are refused.');
    return next();
  });
};

/** Where MCP clients send their messages. There are no sessions: each message has its key, and is answered by itself. */
export function messageRoutes(services: Services, build: Build): OpenAPIHono<ApiEnv> {
  const { fetch: serve } = createMcpHandler(
    ({ era, authInfo }) => serverFor(authInfo!.extra!.exchange as Exchange, era, build.version),
    { onerror: (error) => services.log.debug({ err: error }, 'a message of an MCP client was refused') },
  );
  const routes = newRoutes();
  routes.post('/', ownOrigin(services.env.PUBLIC_URL), keysAlone, requireKey(services), jsonBody(), async (c) => {
    const body = c.get('body') as { id?: unknown; method?: unknown } | unknown[];
    // Many messages in one would be counted as one request.
    if (Array.isArray(body)) return c.json(rpcError(null, rpcCodes.invalidRequest, 'Send one message at a time.'), 400);
    if (body?.method === 'subscriptions/listen') {
      return c.json(rpcError(body.id ?? null, rpcCodes.methodNotFound, 'The server sends no notifications.'), 404);
    }
    const caller = c.get('caller');
    const exchange: Exchange = { c, services, scope: c.get('scope'), caller };
    const { scopes, keyId } = caller;
    const authInfo = { token: '', clientId: keyId!, scopes, extra: { exchange } };
    const answer = await serve(ownRequest(c.req.raw), { parsedBody: body, authInfo });
    // Every answer that needs a key has this header, streams included.
    answer.headers.set('Cache-Control', 'no-store');
    if (answer.headers.get('content-type')?.startsWith('text/event-stream'))
      answer.headers.set('X-Accel-Buffering', 'no');
    return answer;
  });
  return routes;
}
