import { createMiddleware } from 'hono/factory';
import type { Services } from '../../src/services.ts';
import { unauthorized } from '../../src/tenancy/refusals.ts';
import type { ApiEnv } from '../context.ts';
import { limitLookUps } from '../requests/limit-look-ups.ts';
import { readKey } from './authenticate.ts';

/**
 * For operations that give access which outlives their request. A body may arrive long after its head, for which the
 * caller was accepted: refuses the request if the key or session has ended since, or the person has lost the role.
 */
export const stillAllowed = (services: Pick<Services, 'authenticator' | 'failedAuthentications' | 'openSessions'>) =>
  createMiddleware<ApiEnv>(async (c, next) => {
    const { session, organizationId } = c.get('caller');
    if (session) {
      const { id: sessionId, role: required } = session;
      const [isOpen] = await services.openSessions.areOpen([{ sessionId, organizationId, required }]);
      if (!isOpen) throw unauthorized('missing_api_key');
    } else {
      const key = readKey((name) => c.req.header(name));
      await services.authenticator.authenticate(key, limitLookUps(c, services));
    }
    await next();
  });
