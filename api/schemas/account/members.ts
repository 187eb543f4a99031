import { z } from '@hono/zod-openapi';
import { invitationIds, memberIds } from '../../../src/accounts/core/ids.ts';
import type { Invitation } from '../../../src/accounts/list-invitations.ts';
import type { MemberView } from '../../../src/accounts/members.ts';
import { organizationIds } from '../../../src/tenancy/core/ids.ts';
import { planNames } from '../../../src/tenancy/core/plans.ts';
import { listSchema } from '../pagination.ts';
import { filledLine } from '../text.ts';
import { exampleOrganizationId, roleSchema } from './person.ts';

export const memberSchema = z
  .object({
    id: z.string(),
    email: z.string(),
    name: z.string(),
    role: roleSchema,
    createdAt: z.iso.datetime(),
    lastSeenAt: z.iso
      .datetime()
      .nullable()
      .openapi({ description: 'May lag by a minute; null before the first time.' }),
  })
  .openapi('Member');
export const memberListSchema = listSchema('members', memberSchema).openapi('MemberList');
export const newRoleSchema = z.object({ role: roleSchema }).openapi('RoleChange');

export const invitationSchema = z
  .object({
    id: z.string(),
    email: z.string(),
    role: roleSchema,
    status: z.enum(['pending', 'accepted', 'expired', 'revoked']),
    expiresAt: z.iso.datetime(),
    createdAt: z.iso.datetime(),
  })
  .openapi('Invitation');
export const invitationListSchema = listSchema('invitations', invitationSchema).openapi('InvitationList');

const email = z
  .email({ pattern: z.regexes.html5Email })
  .max(320)
  .openapi({ type: 'string', format: 'email', maxLength: 320 });
export const newInvitationSchema = z.object({ email, role: roleSchema }).openapi('NewInvitation');

export const organizationSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    slug: z.string().openapi({
      description: 'The name of the organization in addresses of pages. It is unique in the installation.',
    }),
    contactEmail: z.string().nullable().openapi({ description: 'The address that receives notices.' }),
    plan: z.enum(planNames),
    createdAt: z.iso.datetime(),
  })
  .openapi('Organization');

export const slugPattern = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
export const organizationChangeSchema = z
  .object({
    name: filledLine(200).optional(),
    contactEmail: email.optional(),
    slug: z
      .string()
      .regex(slugPattern, 'Expected 1 to 63 small letters, digits and hyphens, with a letter or digit at both ends.')
      .refine((slug) => slug !== 'test', 'Expected another word than test.')
      .optional(),
  })
  .openapi('OrganizationChange');

export const organizationDeletionSchema = z
  .object({ confirm: z.string().max(200).openapi({ description: "The organization's name." }) })
  .openapi('OrganizationDeletion');
export const deletedOrganizationSchema = z
  .object({ id: z.string(), deletedAt: z.iso.datetime(), removedAfter: z.iso.datetime() })
  .openapi('DeletedOrganization');

export const redirectsSchema = z.object({ redirects: z.array(z.string()) }).openapi('RedirectUrls');
export const newRedirectSchema = z
  .object({
    url: z.string().max(4_096).openapi({ description: 'An https address, without credentials or a fragment.' }),
  })
  .openapi('NewRedirectUrl');

export const shownMember = (member: MemberView): z.input<typeof memberSchema> => member;
export const shownInvitation = ({ id, email: to, role, status, expiresAt, createdAt }: Invitation) => ({
  id: invitationIds.format(id),
  email: to,
  role,
  status,
  expiresAt: expiresAt.toISOString(),
  createdAt: createdAt.toISOString(),
});

const both = <Value>(value: Value) => ({ A: value, B: value });
const pagination = { total: 1, limit: 50, offset: 0, hasMore: false };
const member = {
  id: memberIds.format('0199dddd-2222-7222-8333-444455556666'),
  email: 'ada@example.com',
  name: 'Ada',
  role: 'member' as const,
  createdAt: '2026-12-01T09:00:00.000Z',
  lastSeenAt: '2026-12-02T10:00:00.000Z',
};
export const exampleMemberId = member.id;
export const memberExamples = both(member);
export const memberListExamples = both({ members: [member], pagination });
export const newRoleExamples = both({ role: 'admin' as const });
const invitation = {
  id: invitationIds.format('0199dddd-3333-7222-8333-444455556666'),
  email: 'grace@example.com',
  role: 'member' as const,
  status: 'pending' as const,
  expiresAt: '2026-12-03T09:00:00.000Z',
  createdAt: '2026-12-01T09:00:00.000Z',
};
export const exampleInvitationId = invitation.id;
export const invitationExamples = both(invitation);
export const invitationListExamples = both({ invitations: [invitation], pagination });
export const newInvitationExamples = both({ email: 'grace@example.com', role: 'member' as const });
const organization = {
  id: organizationIds.format(exampleOrganizationId),
  name: 'Acme',
  slug: 'acme',
  contactEmail: 'ops@example.com',
  plan: 'pro' as const,
  createdAt: '2026-12-01T09:00:00.000Z',
};
export const organizationExamples = both(organization);
export const organizationChangeExamples = both({ name: 'Acme', contactEmail: 'ops@example.com' });
export const organizationDeletionExamples = both({ confirm: 'Acme' });
export const deletedOrganizationExamples = both({
  id: organization.id,
  deletedAt: '2026-12-02T09:00:00.000Z',
  removedAfter: '2027-01-01T09:00:00.000Z',
});
const callback = 'https://app.example.com/connected';
export const redirectsExamples = both({ redirects: [callback] });
export const newRedirectExamples = both({ url: callback });
export const exampleRedirect = callback;
