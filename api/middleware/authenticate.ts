import { createMiddleware } from 'hono/factory';
import { userIds } from '../../src/accounts/core/ids.ts';
import { Scope } from '../../src/platform/database/scope.ts';
import { AppError, invalid, rateLimited } from '../../src/platform/errors.ts';
import type { RequestOrigin } from '../../src/platform/security/audit.ts';
import type { Tenant } from '../../src/platform/tenant.ts';
import type { Services } from '../../src/services.ts';
import { type Caller, userIdOf } from '../../src/tenancy/caller.ts';
import { keyIds } from '../../src/tenancy/core/ids.ts';
import type { PlanLimit } from '../../src/tenancy/core/plan-limits.ts';
import { missingScopes } from '../../src/tenancy/core/plans.ts';
import { type RateDecision, type RateLimits, requestWindows } from '../../src/tenancy/core/rate-windows.ts';
import type { Role } from '../../src/tenancy/core/roles.ts';
import { isToken } from '../../src/tenancy/key-format.ts';
import { subjectOf } from '../../src/tenancy/rate-limiter.ts';
import { unauthorized } from '../../src/tenancy/refusals.ts';
import { attributeAnswer, setAnswerHeaders } from '../answer-headers.ts';
import type { ApiContext, ApiEnv } from '../context.ts';
import { checkVariantHeader, chooseDialect } from '../dialects/choose-dialect.ts';
import { limitedRange } from '../requests/client-address.ts';
import { limitLookUps } from '../requests/limit-look-ups.ts';
import {
  checkOrigin,
  checkRole,
  checkSessionMethod,
  checkSessionScope,
  identifySession,
  type ReadHeader,
  sessionValue,
} from './session.ts';
import { identifyByToken, outOfReach } from './token-callers.ts';

export type Access = Pick<
  Services,
  | 'database'
  | 'authenticator'
  | 'tokenAuthenticator'
  | 'limiter'
  | 'failedAuthentications'
  | 'useCounter'
  | 'readSlots'
  | 'accounts'
>;

const bearer = /^bearer +(\S+)$/i;

/** The API key of a request, from either header. @throws AppError */
export function readKey(header: ReadHeader): string | undefined {
  const authorization = header('authorization');
  const fromBearer = authorization === undefined ? undefined : bearer.exec(authorization.trim())?.[1];
  if (authorization !== undefined && fromBearer === undefined) throw unauthorized('invalid_api_key');
  const fromHeader = header('x-api-key')?.trim();
  if (fromBearer && fromHeader && fromBearer !== fromHeader) {
    throw invalid([{ path: 'X-API-Key', message: 'Authorization and X-API-Key carry different keys. Send one.' }]);
  }
  return fromBearer ?? fromHeader;
}

/** Whether the request is that of a signed-in person; a key has precedence. @throws AppError */
function isOfSession(
  c: ApiContext,
  accounts: Access['accounts'],
  key: string | undefined,
  header: ReadHeader,
): boolean {
  if (key === undefined) return sessionValue(accounts, c.req, header) !== undefined;
  if (header('x-atelier-organization') === undefined) return false;
  throw invalid([{ path: 'X-Atelier-Organization', message: 'A key names its organization. Send one of the two.' }]);
}

/** Failures are limited per address. A valid key is accepted even from an address over the limit, see `limitLookUps`. */
function identify(c: ApiContext, access: Access): Caller | Promise<Caller> {
  const { authenticator, failedAuthentications, accounts } = access;
  const find = (): Caller | Promise<Caller> => {
    const header: ReadHeader = (name) => c.req.header(name);
    const key = readKey(header);
    if (isOfSession(c, accounts, key, header)) {
      return identifySession(c, accounts, (userId) => limitPerson(c, access, userId));
    }
    return key && isToken(key)
      ? identifyByToken(c, access, key)
      : authenticator.authenticate(key, limitLookUps(c, access));
  };
  const refuse = (error: unknown): never => {
    if (error instanceof AppError && (error.code === 'unauthorized' || error.code === 'forbidden')) {
      failedAuthentications.take(limitedRange(c.get('clientAddress')()));
    }
    throw error;
  };
  try {
    const caller = find();
    return caller instanceof Promise ? caller.catch(refuse) : caller;
  } catch (error) {
    return refuse(error);
  }
}

function checkScope({ scopes, plan, session }: Caller, required: string): void {
  if (session) checkSessionScope(session, required);
  else if (!scopes.includes(required)) {
    throw new AppError('forbidden', `The key lacks the scope ${required}.`, { required });
  }
  if (missingScopes[plan].includes(required)) {
    throw new AppError('forbidden', `The plan ${plan} does not include ${required}.`, { feature: required, plan });
  }
}

/** Calls `use` with a value, at once where it is known: a promise more for every request costs as much as a check. */
const whenKnown = <Value, Result>(
  value: Value | Promise<Value>,
  use: (value: Value) => Result,
): Result | Promise<Awaited<Result>> =>
  value instanceof Promise ? (value.then(use) as Promise<Awaited<Result>>) : use(value);

/**
 * Counts a request of the tenant and sets the headers of its limits.
 * @param requests how many it counts as
 * @throws AppError rate_limit_exceeded
 */
export const limitRequests = (c: ApiContext, access: Access, tenant: Tenant, limits: RateLimits, requests = 1) =>
  whenKnown(access.limiter.take(subjectOf(tenant), limits, requests), (decision) =>
    announce(c, access, tenant, decision, requests),
  );

/** The same for a request that counts in the window of an operation as well. @throws AppError rate_limit_exceeded */
function limitOperation(c: ApiContext, access: Access, caller: Caller, operation: PlanLimit) {
  const { organizationId, environment, limits, plan } = caller;
  const tenant = { organizationId, environment };
  const window = { name: operation.name, perMinute: operation.of(plan) };
  const decision = access.limiter.takeOperation(subjectOf(tenant), limits, window);
  return whenKnown(decision, (known) => announce(c, access, tenant, known));
}

/** Requests of a person that belong to no organization. */
const personLimits: RateLimits = { perMinute: 120, perDay: 100_000 };

/** Counts a request of a person that belongs to no organization, and sets the headers. @throws AppError rate_limit_exceeded */
export async function limitPerson(c: ApiContext, { limiter }: Access, userId: string): Promise<void> {
  const decision = await limiter.take(`person:${userId}`, personLimits, 1);
  setAnswerHeaders(c, headersOf(decision));
  if (!decision.allowed) throw tooManyRequests(decision);
}

/** The headers of an organization's limits. */
export const headersOf = ({ limit, remaining, resetAt }: RateDecision) => ({
  'X-RateLimit-Limit': String(limit),
  'X-RateLimit-Remaining': String(remaining),
  'X-RateLimit-Reset': String(resetAt),
  'Cache-Control': 'no-store',
});

/** The failure of a request over a limit. */
export const tooManyRequests = (decision: RateDecision): AppError =>
  rateLimited({ ...decision, window: requestWindows[decision.window] });

function announce(c: ApiContext, access: Access, tenant: Tenant, decision: RateDecision, requests = 1): void {
  setAnswerHeaders(c, headersOf(decision));
  attributeAnswer(c, tenant.organizationId);
  if (!decision.allowed) throw tooManyRequests(decision);
  access.useCounter.countRequests(tenant, c.get('caller')?.keyId ?? null, requests);
}

/** The kind of the `{id}` of a path, if the route reads nothing else of its request. */
interface IdInPath {
  /** @returns undefined where no resource can have this id */
  parse(text: string): string | undefined;
  /** The answer to an unknown id, in the form that the caller wrote. */
  notFound(id: string): AppError;
}

/** The caller as the audit log names it. */
function actorOf(caller: Caller): string {
  const userId = userIdOf(caller);
  return userId === undefined ? keyIds.format(caller.keyId!) : userIds.format(userId);
}

/** The request as the audit log names it. The address is worked out for entries alone. */
const originOf = (c: ApiContext): RequestOrigin => ({
  requestId: c.get('requestId'),
  get ip() {
    return c.get('clientAddress')();
  },
});

/** The checks of a route that precede everything else. */
export interface Requirements {
  scopes: readonly string[];
  id?: IdInPath;
  /** Requests a minute: a window in which every request counts as well. */
  operation?: PlanLimit;
  /** Whether tokens of browsers reach the route. */
  admitsTokens?: true;
  /** The role that a person needs even to read. */
  reader?: Role;
}

const requirements = new WeakMap<object, Requirements>();

/** The scope that this middleware requires, if it is one of `requireKey` or `requireKeyAndId`. */
export const requirementsOf = (handler: object): Requirements | undefined => requirements.get(handler);

/** Whether a caller has the permissions that a route requires. @throws AppError forbidden */
export function checkScopes(caller: Caller, { scopes, reader }: Requirements): void {
  const { session } = caller;
  if (session) checkSessionMethod(session);
  if (session && reader) checkRole(session, reader);
  for (const scope of scopes) checkScope(caller, scope);
}

/** @throws AppError not_found where nothing can have this id */
function checkId(text: string, { parse, notFound }: IdInPath): void {
  if (parse(text) === undefined) throw notFound(text);
}

const isRead = ({ req }: ApiContext): boolean => req.method === 'GET' || req.method === 'HEAD';

/** Answers a read while it has a slot. A read that waits for something to happen releases it before. @throws AppError */
async function answerInSlot(c: ApiContext, slot: Promise<() => void>, next: () => Promise<void>): Promise<void> {
  const release = await slot;
  c.set('releaseSlot', release);
  try {
    await next();
  } finally {
    release();
  }
}

function middlewareFor(access: Access, required: Requirements) {
  // A refusal is thrown at once and not in a promise, and known callers cause no wait.
  const middleware = createMiddleware<ApiEnv>((c, next) => {
    const signs = { header: c.req.header('x-api-variant'), path: c.req.path };
    c.set('dialect', chooseDialect(signs));
    return whenKnown(identify(c, access), (caller) => {
      c.set('caller', caller);
      c.set('dialect', chooseDialect({ ...signs, keyVariant: caller.variant }));
      const { organizationId, environment, limits } = caller;
      const tenant = { organizationId, environment };
      const { operation } = required;
      const limited = operation
        ? limitOperation(c, access, caller, operation)
        : limitRequests(c, access, tenant, limits);
      return whenKnown(limited, () => {
        if (caller.token && !required.admitsTokens) throw outOfReach();
        if (caller.session) checkOrigin(c, access.accounts);
        checkScopes(caller, required);
        if (c.get('surface').hasDialects) checkVariantHeader(signs.header);
        return whenKnown(caller.token && access.tokenAuthenticator.countUse(caller), () => {
          if (required.id) checkId(c.req.param('id')!, required.id);
          const scope = new Scope(access.database, tenant, c.get('correlationId'), actorOf(caller), originOf(c));
          c.set('scope', scope);
          return isRead(c) ? answerInSlot(c, access.readSlots.acquire(scope.tenantKey), next) : next();
        });
      });
    });
  });
  requirements.set(middleware, required);
  return middleware;
}

/**
 * Requires a valid key within its rate limits and with the required scopes, or a session whose role has equal rights,
 * and sets the tenant's scope.
 */
export const requireKey = (access: Access, ...scopes: string[]) => middlewareFor(access, { scopes });

/**
 * The same for a route that reads only an `{id}` of its request, which must be well-formed. A GET request that is
 * refused for its id needs no route then: see `refuseEarly`.
 */
export const requireKeyAndId = (access: Access, id: IdInPath, ...scopes: string[]) =>
  middlewareFor(access, { scopes, id });

/** The same as `requireKey` for an operation that has a limit of its own, by plan. */
export const requireKeyFor = (access: Access, operation: PlanLimit, ...scopes: string[]) =>
  middlewareFor(access, { scopes, operation });

/** Lets tokens of browsers reach a route, whose middleware is one of the above. Without this they are refused. */
export function alsoForTokens<Middleware extends object>(middleware: Middleware): Middleware {
  requirements.get(middleware)!.admitsTokens = true;
  return middleware;
}

/** The same as `requireKey` for what not everybody may read. */
export const requireKeyOrReader = (access: Access, reader: Role, ...scopes: string[]) =>
  middlewareFor(access, { scopes, reader });
