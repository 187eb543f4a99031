import { createMiddleware } from 'hono/factory';
import type { Database } from '../../src/platform/database.ts';
import { AppError, invalid } from '../../src/platform/errors.ts';
import { Scope } from '../../src/platform/scope.ts';
import { authenticate, unauthorized } from '../../src/tenancy/authenticate.ts';
import type { KeyScope } from '../../src/tenancy/core/scopes.ts';
import { checkVariantHeader, chooseDialect } from '../dialects/choose-dialect.ts';
import type { ApiContext, ApiEnv } from '../surface.ts';

const bearer = /^bearer +(\S+)$/i;

/** The key a request carries, in either header. @throws AppError */
function readKey(c: ApiContext): string | undefined {
  const authorization = c.req.header('authorization');
  const fromBearer = authorization === undefined ? undefined : bearer.exec(authorization.trim())?.[1];
  if (authorization !== undefined && fromBearer === undefined) throw unauthorized('invalid_api_key');
  const fromHeader = c.req.header('x-api-key')?.trim();
  if (fromBearer && fromHeader && fromBearer !== fromHeader) {
    throw invalid([{ path: 'X-API-Key', message: 'Authorization and X-API-Key carry different keys. Send one.' }]);
  }
  return fromBearer ?? fromHeader;
}

/** Lets a request in whose key is good and may do this, and gives it the scope of its tenant. */
export const requireKey = (database: Database, scope?: KeyScope) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    const signs = { header: c.req.header('x-api-variant'), path: c.req.path };
    c.set('dialect', chooseDialect(signs));
    const caller = await authenticate(database, readKey(c));
    c.set('caller', caller);
    c.set('dialect', chooseDialect({ ...signs, keyVariant: caller.variant }));
    if (scope && !caller.scopes.includes(scope)) {
      throw new AppError('forbidden', `The key lacks the scope ${scope}.`, { required: scope });
    }
    checkVariantHeader(signs.header);
    const { organizationId, environment } = caller;
    c.set('scope', new Scope(database, { organizationId, environment }, c.get('correlationId')));
    await next();
    c.res.headers.set('Cache-Control', 'no-store');
  });
