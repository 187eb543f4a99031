import { type OpenAPIHono, z } from '@hono/zod-openapi';
import { invitationIds, memberIds } from '../../../../src/accounts/core/ids.ts';
import { isAtLeast } from '../../../../src/accounts/core/roles.ts';
import { type Acting, inviteOnce } from '../../../../src/accounts/invitations.ts';
import { listInvitations, revokeInvitation } from '../../../../src/accounts/list-invitations.ts';
import { changeRole, listMembers, noMember, removeMember } from '../../../../src/accounts/members.ts';
import { findClaim } from '../../../../src/platform/database/idempotency.ts';
import { AppError } from '../../../../src/platform/errors.ts';
import type { Services } from '../../../../src/services.ts';
import type { CallerSession } from '../../../../src/tenancy/caller.ts';
import { tenancyLimits } from '../../../../src/tenancy/core/limits.ts';
import { countMail } from '../../../../src/tenancy/index.ts';
import type { ApiContext, ApiEnv } from '../../../context.ts';
import { success } from '../../../envelopes.ts';
import { markReplayed, readIdempotency } from '../../../idempotency.ts';
import { requireKey } from '../../../middleware/authenticate.ts';
import { requirePerson } from '../../../middleware/session.ts';
import { stillAllowed } from '../../../middleware/still-allowed.ts';
import { newRoutes } from '../../../new-routes.ts';
import { operationsOf } from '../../../operation.ts';
import {
  exampleInvitationId,
  exampleMemberId,
  invitationExamples,
  invitationListExamples,
  invitationListSchema,
  invitationSchema,
  memberExamples,
  memberListExamples,
  memberListSchema,
  memberSchema,
  newInvitationExamples,
  newInvitationSchema,
  newRoleExamples,
  newRoleSchema,
  shownInvitation,
  shownMember,
} from '../../../schemas/account/members.ts';
import { answer, deleted, deletedAnswer, jsonContent } from '../../../schemas/answers.ts';
import { prefixedIdInPath } from '../../../schemas/ids.ts';
import { listOf, pageQuery, withPageDefaults } from '../../../schemas/pagination.ts';

/** Who acts, as the audit log names it. */
const actingOf = (c: ApiContext, { userId }: CallerSession): Acting => ({
  ...c.get('scope').author,
  userId,
});

/** Members and invitations. Keys read them; people write them. */
export function memberRoutes(services: Services): OpenAPIHono<ApiEnv> {
  const { database, accounts, background, sealer } = services;
  const key = requireKey(services, 'keys');
  const operation = operationsOf({ tag: 'Organization', key });
  // Every key has the scope by default, and a key must not raise the role of its user.
  const ofPeople = operationsOf({ tag: 'Organization', key, security: [{ session: [] }] });
  const checks = [stillAllowed(services)];

  const list = operation({
    method: 'get',
    path: '/members',
    operationId: 'listMembers',
    'x-client-method': 'members.list',
    summary: 'List members',
    description: 'The people of the organization, in the order in which they joined.',
    query: z.object(pageQuery),
    answers: {
      200: answer('A page of members.', memberListSchema, {
        examples: memberListExamples,
        links: {
          Update: { operationId: 'updateMember', parameters: { memberId: '$response.body#/data/members/0/id' } },
        },
      }),
    },
  });
  const update = ofPeople({
    method: 'patch',
    path: '/members/{memberId}',
    operationId: 'updateMember',
    'x-client-method': 'members.update',
    summary: 'Change the role of a member',
    description:
      'Needs the session of an admin, or of an owner to change an owner. The last owner cannot be changed (409).',
    params: prefixedIdInPath('memberId', exampleMemberId),
    body: jsonContent(newRoleSchema, newRoleExamples),
    checks,
    failures: [409],
    answers: { 200: answer('Returns the member.', memberSchema, { examples: memberExamples }) },
  });
  const remove = ofPeople({
    method: 'delete',
    path: '/members/{memberId}',
    operationId: 'deleteMember',
    'x-client-method': 'members.delete',
    summary: 'Remove a member',
    description:
      'All sessions of the person end at once. Needs the session of an admin. The last owner cannot be removed (409).',
    params: prefixedIdInPath('memberId', exampleMemberId),
    failures: [409],
    answers: { 200: deletedAnswer('The person is no longer a member.') },
  });
  const listInvited = operation({
    method: 'get',
    path: '/invitations',
    operationId: 'listInvitations',
    'x-client-method': 'invitations.list',
    summary: 'List invitations',
    description: 'The invitations of the organization, newest first, until 30 days after they expire.',
    query: z.object(pageQuery),
    answers: {
      200: answer('A page of invitations.', invitationListSchema, {
        examples: invitationListExamples,
        links: {
          Delete: {
            operationId: 'deleteInvitation',
            parameters: { invitationId: '$response.body#/data/invitations/0/id' },
          },
        },
      }),
    },
  });
  const create = ofPeople({
    method: 'post',
    path: '/invitations',
    operationId: 'createInvitation',
    'x-client-method': 'invitations.create',
    summary: 'Invite a person',
    description:
      'Mails a link that makes its reader a member. The link works once, within 48 hours. An earlier invitation of the address ends. Needs the session of an admin, or of an owner to invite an owner.',
    body: jsonContent(newInvitationSchema, newInvitationExamples),
    idempotent: true,
    checks,
    failures: [409],
    answers: {
      201: answer('Returns the invitation.', invitationSchema, {
        examples: invitationExamples,
        links: { Delete: { operationId: 'deleteInvitation', parameters: { invitationId: '$response.body#/data/id' } } },
        replayable: true,
      }),
    },
  });
  const revoke = ofPeople({
    method: 'delete',
    path: '/invitations/{invitationId}',
    operationId: 'deleteInvitation',
    'x-client-method': 'invitations.delete',
    summary: 'Revoke an invitation',
    description: 'Its link stops working at once. Needs the session of an admin.',
    params: prefixedIdInPath('invitationId', exampleInvitationId),
    answers: { 200: deletedAnswer('The invitation is revoked.') },
  });

  const memberOf = (c: ApiContext, text: string, by: CallerSession) => {
    const memberId = memberIds.parse(text);
    if (memberId === undefined) throw noMember(text);
    return { organizationId: c.get('caller').organizationId, memberId, by: by.role };
  };

  const routes = newRoutes();
  routes.openapi(list, async (c) => {
    const page = withPageDefaults(c, c.req.valid('query'));
    const { members, total } = await listMembers(database, c.get('caller').organizationId, page);
    return c.json(success(listOf('members', { ...page, items: members, total }, shownMember)), 200);
  });
  routes.openapi(update, async (c) => {
    const by = requirePerson(c, 'admin');
    const { role } = c.req.valid('json');
    const member = memberOf(c, c.req.valid('param').memberId, by);
    return c.json(success(shownMember(await changeRole(database, member, role, actingOf(c, by)))), 200);
  });
  routes.openapi(remove, async (c) => {
    const by = requirePerson(c, 'admin');
    await removeMember(database, memberOf(c, c.req.valid('param').memberId, by), actingOf(c, by));
    return c.json(deleted, 200);
  });
  routes.openapi(listInvited, async (c) => {
    const page = withPageDefaults(c, c.req.valid('query'));
    const found = await listInvitations(database, c.get('caller').organizationId, page);
    return c.json(success(listOf('invitations', found, shownInvitation)), 200);
  });
  routes.openapi(create, async (c) => {
    const by = requirePerson(c, 'admin');
    const { email, role } = c.req.valid('json');
    if (role === 'owner' && !isAtLeast(by.role, 'owner')) {
      throw new AppError('forbidden', 'An owner invites owners.', { required: 'owner' });
    }
    const { organizationId, plan } = c.get('caller');
    const scope = c.get('scope');
    const claim = readIdempotency(c);
    const isRepeated = claim !== undefined && (await findClaim(scope, claim)) !== undefined;
    if (!isRepeated && !(await countMail(scope, { isRefusable: true }))) {
      const limit = tenancyLimits.mailsPerDay.of(plan);
      throw new AppError('forbidden', `The plan ${plan} includes ${limit} mails a day.`, { limit, plan });
    }
    const { secret, times, invitationMails } = accounts;
    const invitation = { organizationId, email, role };
    const options = { secret, times, claim, sealer, tenant: scope.tenant };
    const { outcome, replayed } = await inviteOnce(database, invitation, actingOf(c, by), options);
    if (!replayed) {
      background.runAfterAnswer('mail of an invitation', () =>
        invitationMails.mail({ id: outcome.id, organizationId }),
      );
    }
    markReplayed(c, replayed);
    return c.json(success(shownInvitation({ ...outcome, status: 'pending' })), 201);
  });
  routes.openapi(revoke, async (c) => {
    const by = requirePerson(c, 'admin');
    const id = invitationIds.parse(c.req.valid('param').invitationId);
    if (id === undefined) {
      throw new AppError('not_found', `No invitation has the id ${c.req.valid('param').invitationId}.`);
    }
    const { organizationId } = c.get('caller');
    await revokeInvitation(database, { organizationId, id }, actingOf(c, by));
    return c.json(deleted, 200);
  });
  return routes;
}
