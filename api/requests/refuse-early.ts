import type { IncomingMessage, ServerResponse } from 'node:http';
import type { OpenAPIHono } from '@hono/zod-openapi';
import type { AddressRanges } from '../../src/platform/egress/address-ranges.ts';
import { AppError } from '../../src/platform/errors.ts';
import type { Services } from '../../src/services.ts';
import { type AddressFamily, familiesOfPages, familyOf } from '../../src/tenancy/address-limits.ts';
import type { Caller } from '../../src/tenancy/caller.ts';
import { isToken } from '../../src/tenancy/key-format.ts';
import { subjectOf } from '../../src/tenancy/rate-limiter.ts';
import type { ApiEnv } from '../context.ts';
import { checkVariantHeader, chooseDialect } from '../dialects/choose-dialect.ts';
import { answerTo } from '../errors/render-error.ts';
import {
  checkScopes,
  headersOf,
  type Requirements,
  readKey,
  requirementsOf,
  tooManyRequests,
} from '../middleware/authenticate.ts';
import { recordRequest } from '../middleware/observe.ts';
import { onEveryAnswer, onTokenPages } from '../middleware/security-headers.ts';
import type { ReadHeader } from '../middleware/session.ts';
import type { FindSurface, Surface } from '../surface.ts';
import { clientAddress, limitedRange } from './client-address.ts';
import { requestIds } from './request-ids.ts';
import { templateOf, unmatched } from './route-template.ts';

/** Requests whose head needs no interpretation; the adapter handles all others. */
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

/** A route whose first question is for a key. */
interface KeyedRoute {
  template: string;
  required: Requirements;
  /** Which segment of the path is the id that it requires; -1 where it requires none. */
  idAt: number;
}

interface AskedRoute {
  route: KeyedRoute;
  path: string;
  surface: Surface;
}

/** Whether the routes would come to look at the id. */
function isAllowed(required: Requirements, { hasDialects }: Surface, header: ReadHeader, caller: Caller): boolean {
  try {
    checkScopes(caller, required);
    if (hasDialects) checkVariantHeader(header('x-api-variant'));
    return true;
  } catch {
    return false;
  }
}

interface Refusal {
  failure: AppError;
  caller?: Caller;
  headers?: Record<string, string>;
}

/** Answers a request if it is to be refused. @returns whether it was */
export type RefuseEarly = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Refuses typical flood requests before they reach the routes: GET requests without a valid key, of an organization
 * over its limit, of an address over its limit, or for an id that cannot exist. `requireKey` decides the same and gives
 * the same answer, at three times the cost; requests that need the database, Redis or an interpretation are left to it.
 * Counts nothing for requests that it lets pass.
 */
export function refuseEarly(
  app: OpenAPIHono<ApiEnv>,
  services: Services,
  findSurface: FindSurface,
  trustedProxies: AddressRanges,
): RefuseEarly {
  const { authenticator, limiter, failedAuthentications, addressLimits, useCounter, tracing, env, accounts } = services;
  // A span of its own, or another limit first, is the routes' business.
  if (tracing || env.BROAD_RATE_MAX !== undefined) return () => false;

  /** By the router's handlers of a route; false if a key is not its first requirement. */
  const routes = new WeakMap<object, KeyedRoute | false>();
  const readRoute = (handlers: readonly { handler: object; method: string; path: string }[]): KeyedRoute | false => {
    const [first, second] = handlers;
    const required = first?.method === 'ALL' && second !== undefined && requirementsOf(second.handler);
    if (!required) return false;
    return { template: templateOf(handlers), required, idAt: second.path.split('/').indexOf(':id') };
  };
  const routeOf = (path: string): KeyedRoute | false => {
    const [handlers] = app.router.match('GET', path);
    let route = routes.get(handlers);
    if (route === undefined) {
      route = readRoute(handlers.map(([[handler, { method, path }]]) => ({ handler, method, path })));
      routes.set(handlers, route);
    }
    return route;
  };

  /** Whether it may be a request of a signed-in person, or one that names its organization twice. */
  const mayBeSession = (header: ReadHeader) =>
    header('x-atelier-organization') !== undefined || accounts.cookie.valueIn(header('cookie')) !== undefined;

  const refusalOf = (asked: AskedRoute, header: ReadHeader, peer: string | undefined): Refusal | undefined => {
    try {
      if (mayBeSession(header)) return undefined;
      const key = readKey(header);
      // Its answer depends on the origin.
      if (key && isToken(key)) return undefined;
      const caller = authenticator.recall(key);
      if (!caller) return undefined;
      const decision = limiter.refusal(subjectOf(caller), caller.limits);
      if (decision) return { caller, failure: tooManyRequests(decision), headers: headersOf(decision) };
      return refusalOfId(asked, header, caller);
    } catch (error) {
      // The routes report faults on our side.
      if (!(error instanceof AppError)) return undefined;
      return { failure: error.code === 'unauthorized' ? countFailure(error, header, peer) : error };
    }
  };

  /** Counts the request: the caller may make it, and its answer is that the id does not exist. */
  const refusalOfId = ({ route, path, surface }: AskedRoute, header: ReadHeader, caller: Caller) => {
    const { required, idAt } = route;
    if (!required.id || idAt < 0) return undefined;
    const id = path.split('/', idAt + 1)[idAt]!;
    if (required.id.parse(id) !== undefined || !isAllowed(required, surface, header, caller)) return undefined;
    const { organizationId, environment, limits } = caller;
    const decision = limiter.takeNow(subjectOf(caller), limits);
    if (!decision?.allowed) return undefined;
    useCounter.countRequests({ organizationId, environment }, caller.keyId);
    return { caller, failure: required.id.notFound(id), headers: headersOf(decision) };
  };

  /** Refuses requests over their limit; the routes count the others. */
  const refusalOfAddress = (
    family: AddressFamily,
    header: ReadHeader,
    peer: string | undefined,
  ): Refusal | undefined => {
    const failure = addressLimits.refusal(family, limitedRange(clientAddress(peer, header, trustedProxies)));
    return failure && { failure, ...(familiesOfPages.has(family) && { headers: onTokenPages }) };
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
    if (path === undefined) return false;
    const family = familyOf(path);
    const route = !family && routeOf(path);
    if (!family && !route) return false;
    const surface = findSurface(path);
    const header: ReadHeader = (name) => request.headers[name] as string | undefined;
    const peer = request.socket.remoteAddress;
    const refusal = family
      ? refusalOfAddress(family, header, peer)
      : route && refusalOf({ route, path, surface }, header, peer);
    if (!refusal) return false;

    const { failure, caller } = refusal;
    const { requestId, correlationId } = requestIds(header('x-correlation-id'));
    const dialect = chooseDialect({ header: header('x-api-variant'), path, keyVariant: caller?.variant });
    const { status, headers, body } = answerTo(failure, { surface, dialect, requestId });
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
    const template = route ? route.template : unmatched;
    recordRequest(services, { requestId, correlationId, method: 'GET', route: template, status, ms, caller });
    return true;
  };
}
