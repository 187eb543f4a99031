import { createMiddleware } from 'hono/factory';
import { workflowIds } from '../../../../src/automation/core/ids.ts';
import { authenticateTrigger, checkTriggerSecret, wrongSecret } from '../../../../src/automation/runs/trigger.ts';
import { Scope } from '../../../../src/platform/database/scope.ts';
import { AppError } from '../../../../src/platform/errors.ts';
import { unauthorized } from '../../../../src/tenancy/refusals.ts';
import { dropAnswerHeaders, limitHeaders } from '../../../answer-headers.ts';
import type { ApiContext, ApiEnv } from '../../../context.ts';
import { checkVariantHeader, chooseDialect } from '../../../dialects/choose-dialect.ts';
import { type Access, limitRequests, readKey, requireKey } from '../../../middleware/authenticate.ts';
import { sessionValue } from '../../../middleware/session.ts';
import { limitedRange } from '../../../requests/client-address.ts';
import { limitLookUps } from '../../../requests/limit-look-ups.ts';
import { secretFromPath } from '../../../requests/trigger-path.ts';

/** A trigger may come without a key, so the form of the id in its path selects the dialect. */
function dialectOf(c: ApiContext, id: string) {
  const keyVariant = workflowIds.matchesPrefix(id) ? 'B' : 'A';
  return chooseDialect({ header: c.req.header('x-api-variant'), path: c.req.path, keyVariant });
}

/** The secret of a trigger, from its header or its path. @throws AppError unauthorized when they differ */
function readSecret(c: ApiContext): string | undefined {
  const inHeader = c.req.header('x-webhook-secret');
  const inPath = secretFromPath(c.req.raw);
  if (inHeader !== undefined && inPath !== undefined && inHeader !== inPath) throw wrongSecret();
  return inPath ?? inHeader;
}

/**
 * Authenticates a trigger, by a key with the scope `runs:execute` or by the workflow's secret. A wrong secret is refused
 * even with a valid key. A caller with neither does not learn whether the workflow exists.
 */
export const requireTrigger = (access: Access) => {
  const withKey = requireKey(access, 'runs:execute');
  return createMiddleware<ApiEnv>(async (c, next) => {
    const id = c.req.param('id') ?? '';
    const refuse = async (error: unknown): Promise<never> => {
      if (error instanceof AppError && error.code === 'unauthorized') {
        // A refused caller must not see the limits of the organization.
        dropAnswerHeaders(c, limitHeaders);
        access.failedAuthentications.take(limitedRange(c.get('clientAddress')()));
      }
      throw error;
    };
    c.set('dialect', dialectOf(c, id));
    let secret: string | undefined;
    try {
      secret = readSecret(c);
    } catch (error) {
      return refuse(error);
    }
    const header = (name: string) => c.req.header(name);
    // A signed-in user may send the secret in place of the session.
    const hasSession = secret === undefined && sessionValue(access.accounts, c.req, header) !== undefined;
    if (readKey(header) !== undefined || hasSession) {
      return withKey(c, async () => {
        c.set('dialect', dialectOf(c, id));
        if (secret !== undefined) await checkTriggerSecret(c.get('scope'), id, secret).catch(refuse);
        await next();
      });
    }
    if (secret === undefined) return refuse(unauthorized('missing_api_key'));
    const find = () => authenticateTrigger(access.database, id, secret);
    const triggered = await limitLookUps(c, access)(find).catch(refuse);
    const { tenant, limits } = triggered;
    await limitRequests(c, access, tenant, limits);
    checkVariantHeader(c.req.header('x-api-variant'));
    c.set('scope', new Scope(access.database, tenant, c.get('correlationId'), 'webhook'));
    await next();
  });
};
