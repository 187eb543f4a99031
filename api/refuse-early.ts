import type { IncomingMessage, ServerResponse } from 'node:http';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { AddressRanges } from '../src/platform/address-ranges.ts';
import { AppError, rateLimited } from '../src/platform/errors.ts';
import type { Services } from '../src/services.ts';
import type { Caller } from '../src/tenancy/caller.ts';
import { subjectOf } from '../src/tenancy/rate-limiter.ts';
import { clientAddress, limitedRange } from './client-address.ts';
import type { ApiEnv } from './context.ts';
import { chooseDialect } from './dialects/choose-dialect.ts';
import { headersOf, isRequireKey, type ReadHeader, readKey } from './middleware/authenticate.ts';
import { recordRequest } from './middleware/observe.ts';
import { onEveryAnswer } from './middleware/security-headers.ts';
import { answerTo } from './render-error.ts';
import { requestIds } from './request-ids.ts';
import { templateOf } from './route-template.ts';
import type { FindSurface } from './surface.ts';

/** Requests whose head needs no interpretation; what is special about others is the adapter's to judge. */
const plainHost = /^[a-z0-9._-]+(?::(?:[1-5]\d{3,4}|[6-9]\d{3}))?$/;
const plainTarget = /^(\/[A-Za-z0-9/_-]*)(?:\?[A-Za-z0-9=&_-]*)?$/;

function isPlain({ method, headers, rawHeaders }: IncomingMessage): boolean {
  if (method !== 'GET' || !plainHost.test(headers.host ?? '')) return false;
  let keys = 0;
  // Names and values alternate. Of several Authorization headers Node reads the first one only.
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length === 13 && name.toLowerCase() === 'authorization') keys++;
  }
  return keys <= 1;
}

interface Refusal {
  failure: AppError;
  caller?: Caller;
  headers?: Record<string, string>;
}

/** Answers a request if it is to be refused. @returns whether it was */
export type RefuseEarly = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Refuses what a flood consists of before it reaches the routes: GET requests without a valid key, or of an organization over
 * its limit. `requireKey` decides the same and gives the same answer, at three times the cost; whatever needs the database,
 * Redis or an interpretation of the request is left to it. Counts nothing about requests that it lets pass.
 */
export function refuseEarly(
  app: OpenAPIHono<ApiEnv>,
  services: Services,
  findSurface: FindSurface,
  trustedProxies: AddressRanges,
): RefuseEarly {
  const { authenticator, limiter, failedAuthentications, tracing, env } = services;
  // A span of its own, or another limit first, is the routes' business.
  if (tracing || env.BROAD_RATE_MAX !== undefined) return () => false;

  /** By the router's handlers of a route: its template, if a key is the first thing that it asks for. */
  const templates = new WeakMap<object, string | false>();
  const keyedTemplate = (path: string): string | false => {
    const [handlers] = app.router.match('GET', path);
    let template = templates.get(handlers);
    if (template === undefined) {
      const routes = handlers.map(([[handler, { method, path }]]) => ({ handler, method, path }));
      const [first, second] = routes;
      const asksForKey = first?.method === 'ALL' && second !== undefined && isRequireKey(second.handler);
      template = asksForKey && templateOf(routes);
      templates.set(handlers, template);
    }
    return template;
  };

  const refusalOf = (header: ReadHeader, peer: string | undefined): Refusal | undefined => {
    try {
      const caller = authenticator.recall(readKey(header));
      const decision = caller && limiter.refusal(subjectOf(caller), caller.limits);
      return decision && { caller, failure: rateLimited(decision), headers: headersOf(decision) };
    } catch (error) {
      // What is wrong on our side is for the routes to report.
      if (!(error instanceof AppError)) return undefined;
      return { failure: error.code === 'unauthorized' ? countFailure(error, header, peer) : error };
    }
  };

  const countFailure = (refused: AppError, header: ReadHeader, peer: string | undefined): AppError => {
    try {
      failedAuthentications.take(limitedRange(clientAddress(peer, header, trustedProxies)));
      return refused;
    } catch (error) {
      return error instanceof AppError ? error : refused;
    }
  };

  return (request, response) => {
    if (!isPlain(request)) return false;
    const began = performance.now();
    const path = plainTarget.exec(request.url ?? '')?.[1];
    const route = path !== undefined && keyedTemplate(path);
    if (!route) return false;
    const header: ReadHeader = (name) => request.headers[name] as string | undefined;
    const refusal = refusalOf(header, request.socket.remoteAddress);
    if (!refusal) return false;

    const { failure, caller } = refusal;
    const { requestId, correlationId } = requestIds(header('x-correlation-id'));
    const dialect = chooseDialect({ header: header('x-api-variant'), path, keyVariant: caller?.variant });
    const { status, headers, body } = answerTo(failure, { surface: findSurface(path), dialect, requestId });
    const text = JSON.stringify(body);
    response.writeHead(status, {
      ...onEveryAnswer,
      'X-Request-ID': requestId,
      'x-correlation-id': correlationId,
      ...refusal.headers,
      ...headers,
      'Content-Type': 'application/json',
      'Content-Length': Buffer.byteLength(text),
    });
    response.end(text);
    const ms = performance.now() - began;
    recordRequest(services, { requestId, correlationId, method: 'GET', route, status, ms, caller });
    return true;
  };
}
