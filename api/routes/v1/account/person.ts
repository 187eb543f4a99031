import type { OpenAPIHono } from '@hono/zod-openapi';
import { userIds } from '../../../../src/accounts/core/ids.ts';
import type { Services } from '../../../../src/services.ts';
import { organizationIds } from '../../../../src/tenancy/core/ids.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireSession } from '../../../middleware/require-person.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import { personExample, personSchema, revokedSchema } from '../../../schemas/account/person.ts';
import { answer } from '../../../schemas/answers.ts';

/** What belongs to a person who is signed in, and to no organization. */
export function personRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const { sessions, temporalUrlFor } = services.accounts;
  const operation = operationsOf({ tag: 'Account', key: requireSession(services), security: [{ session: [] }] });

  const get = operation({
    method: 'get',
    path: '/account',
    operationId: 'getAccount',
    'x-client-method': 'account.get',
    summary: 'Retrieve who is signed in',
    description: 'Returns the person of the session and the organizations with the role in each. Keys have no person.',
    answers: {
      200: answer('Returns the person.', personSchema, { examples: { A: personExample, B: personExample } }),
    },
  });
  const revoke = operation({
    method: 'post',
    path: '/account/sessions/revoke',
    operationId: 'revokeSessions',
    'x-client-method': 'account.sessions.revoke',
    summary: 'End all sessions of the person',
    description:
      'Ends every session of the person who is signed in, the asking one too, everywhere at once. What they have open ends within a second.',
    failures: [403],
    answers: {
      200: answer('Returns how many have ended.', revokedSchema, {
        examples: { A: { revoked: 2 }, B: { revoked: 2 } },
      }),
    },
  });

  const routes = newRoutes();
  routes.openapi(get, async (c) => {
    const { userId, email, name } = c.get('person');
    const organizations = await sessions.organizationsOf(userId);
    const shown = organizations.map((one) => ({ ...one, id: organizationIds.format(one.id) }));
    const user = { id: userIds.format(userId), email, name };
    return c.json(success({ user, organizations: shown, temporalUrl: temporalUrlFor(email) }), 200);
  });
  routes.openapi(revoke, async (c) => {
    return c.json(success({ revoked: await sessions.endAll(c.get('person').userId) }), 200);
  });
  return routes;
}
