import { createMiddleware } from 'hono/factory';
import { AppError, invalid, rateLimited } from '../../src/platform/errors.ts';
import { Scope } from '../../src/platform/scope.ts';
import type { Services } from '../../src/services.ts';
import { unauthorized } from '../../src/tenancy/authenticate.ts';
import type { Caller } from '../../src/tenancy/caller.ts';
import { keyIds } from '../../src/tenancy/core/ids.ts';
import { plans } from '../../src/tenancy/core/plans.ts';
import type { RateLimits } from '../../src/tenancy/core/rate-windows.ts';
import type { KeyScope } from '../../src/tenancy/core/scopes.ts';
import { setAnswerHeaders } from '../answer-headers.ts';
import { limitedRange } from '../client-address.ts';
import type { ApiContext, ApiEnv } from '../context.ts';
import { checkVariantHeader, chooseDialect } from '../dialects/choose-dialect.ts';

export type Access = Pick<
  Services,
  'database' | 'authenticator' | 'limiter' | 'failedAuthentications' | 'requestCounter'
>;

const bearer = /^bearer +(\S+)$/i;

/** The API key of a request, from either header. @throws AppError */
export function readKey(c: ApiContext): string | undefined {
  const authorization = c.req.header('authorization');
  const fromBearer = authorization === undefined ? undefined : bearer.exec(authorization.trim())?.[1];
  if (authorization !== undefined && fromBearer === undefined) throw unauthorized('invalid_api_key');
  const fromHeader = c.req.header('x-api-key')?.trim();
  if (fromBearer && fromHeader && fromBearer !== fromHeader) {
    throw invalid([{ path: 'X-API-Key', message: 'Authorization and X-API-Key carry different keys. Send one.' }]);
  }
  return fromBearer ?? fromHeader;
}

/** Failures are limited per address. A valid key is accepted even from an address over the limit. */
async function identify(c: ApiContext, { authenticator, failedAuthentications }: Access): Promise<Caller> {
  try {
    return await authenticator.authenticate(readKey(c));
  } catch (error) {
    if (error instanceof AppError && error.code === 'unauthorized') {
      await failedAuthentications.take(limitedRange(c.get('clientAddress')));
    }
    throw error;
  }
}

function checkScope({ scopes, plan }: Caller, required: KeyScope | undefined): void {
  if (!required) return;
  if (!scopes.includes(required)) throw new AppError('forbidden', `The key lacks the scope ${required}.`, { required });
  if (plans[plan].withoutFeatures.includes(required)) {
    throw new AppError('forbidden', `The plan ${plan} does not include ${required}.`, { feature: required, plan });
  }
}

/** Counts a request in its subject's rate windows and sets the headers. @throws AppError rate_limit_exceeded */
export async function limitRequests(c: ApiContext, access: Access, subject: string, limits: RateLimits): Promise<void> {
  const decision = await access.limiter.take(subject, limits);
  setAnswerHeaders(c, {
    'X-RateLimit-Limit': String(decision.limit),
    'X-RateLimit-Remaining': String(decision.remaining),
    'X-RateLimit-Reset': String(decision.resetAt),
    'Cache-Control': 'no-store',
  });
  if (!decision.allowed) throw rateLimited(decision);
}

/** Requires a valid key within its rate limits and with the required scope, and sets the tenant's scope. */
export const requireKey = (access: Access, required?: KeyScope) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    const signs = { header: c.req.header('x-api-variant'), path: c.req.path };
    c.set('dialect', chooseDialect(signs));
    const caller = await identify(c, access);
    c.set('caller', caller);
    c.set('dialect', chooseDialect({ ...signs, keyVariant: caller.variant }));
    const { organizationId, environment, limits } = caller;
    await limitRequests(c, access, `${organizationId}:${environment}`, limits);
    access.requestCounter.count({ organizationId, environment });
    checkScope(caller, required);
    if (c.get('surface').hasDialects) checkVariantHeader(signs.header);
    const actor = keyIds.format(caller.keyId);
    c.set('scope', new Scope(access.database, { organizationId, environment }, c.get('correlationId'), actor));
    return next();
  });
