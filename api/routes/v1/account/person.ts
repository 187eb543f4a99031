import type { OpenAPIHono } from '@hono/zod-openapi';
import { identityIds, userIds } from '../../../../src/accounts/core/ids.ts';
import { listIdentities, unlinkIdentity } from '../../../../src/accounts/own-identities.ts';
import { AppError } from '../../../../src/platform/errors.ts';
import type { Services } from '../../../../src/services.ts';
import { organizationIds } from '../../../../src/tenancy/core/ids.ts';
import type { ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { requireSession } from '../../../middleware/require-person.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import {
  exampleIdentityId,
  identitiesExample,
  identitiesSchema,
  personExample,
  personSchema,
  revokedSchema,
} from '../../../schemas/account/person.ts';
import { answer, deleted, deletedAnswer } from '../../../schemas/answers.ts';
import { prefixedIdInPath } from '../../../schemas/ids.ts';

/** Operations that belong to a signed-in person, and to no organization. */
export function personRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const { database, accounts } = services;
  const { sessions, temporalUrlFor, oidc, hasPasskeys } = accounts;
  const operation = operationsOf({ tag: 'Account', key: requireSession(services), security: [{ session: [] }] });

  const get = operation({
    method: 'get',
    path: '/account',
    operationId: 'getAccount',
    'x-client-method': 'account.get',
    summary: 'Retrieve the signed-in person',
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
      'Ends every session of the person who is signed in, the current one too, at once. Open requests of these sessions end within a second.',
    failures: [403],
    answers: {
      200: answer('Returns how many have ended.', revokedSchema, {
        examples: { A: { revoked: 2 }, B: { revoked: 2 } },
      }),
    },
  });

  const list = operation({
    method: 'get',
    path: '/account/identities',
    operationId: 'listIdentities',
    'x-client-method': 'account.identities.list',
    summary: 'List the identities of the person',
    description: 'The identities at the OpenID provider that the signed-in person can sign in with, oldest first.',
    answers: {
      200: answer('Returns the identities.', identitiesSchema, {
        examples: { A: identitiesExample, B: identitiesExample },
        links: {
          Delete: { operationId: 'deleteIdentity', parameters: { identityId: '$response.body#/data/identities/0/id' } },
        },
      }),
    },
  });
  const unlink = operation({
    method: 'delete',
    path: '/account/identities/{identityId}',
    operationId: 'deleteIdentity',
    'x-client-method': 'account.identities.delete',
    summary: 'Unlink an identity of the person',
    description:
      'The person can no longer sign in with this identity. Open sessions continue. Signing in at the provider with the address of the account links it again. If the person has no password, no passkey and no other identity, the answer is 409 `conflict` and `details {reason: "only_way_to_sign_in"}`.',
    params: prefixedIdInPath('identityId', exampleIdentityId),
    failures: [403, 409],
    answers: { 200: deletedAnswer('The identity is unlinked.') },
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
  routes.openapi(list, async (c) => {
    const found = await listIdentities(database, c.get('person').userId);
    const identities = found.map(({ id, issuer, createdAt }) => ({
      id: identityIds.format(id),
      issuer,
      isUsable: issuer === oidc?.issuer,
      createdAt: createdAt.toISOString(),
    }));
    return c.json(success({ identities }), 200);
  });
  routes.openapi(unlink, async (c) => {
    const { identityId } = c.req.valid('param');
    const id = identityIds.parse(identityId);
    if (id === undefined) throw new AppError('not_found', `You have no identity with the id ${identityId}.`);
    const ways = { issuer: oidc?.issuer, hasPasskeys };
    const origin = { requestId: c.get('requestId'), ip: c.get('clientAddress')() };
    await unlinkIdentity(database, { userId: c.get('person').userId, id }, ways, origin);
    return c.json(deleted, 200);
  });
  return routes;
}
