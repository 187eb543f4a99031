import { z } from '@hono/zod-openapi';
import { identityIds, userIds } from '../../../src/accounts/core/ids.ts';
import { organizationIds } from '../../../src/tenancy/core/ids.ts';
import { roles } from '../../../src/tenancy/core/roles.ts';

export const roleSchema = z.enum(roles).openapi('Role', {
  description:
    'A viewer reads. A member also writes, except keys. An admin writes everything. An owner also changes owners.',
});

export const personSchema = z
  .object({
    user: z.object({ id: z.string(), email: z.string(), name: z.string() }),
    organizations: z.array(z.object({ id: z.string(), name: z.string(), slug: z.string(), role: roleSchema })),
    temporalUrl: z.string().nullable().openapi({
      description: "The namespace in Temporal's web UI, for operators of the installation; null for other users.",
    }),
  })
  .openapi('SignedInPerson');

const exampleUserId = '0199aaaa-bbbb-7ccc-8ddd-eeeeffff0000';
export const exampleOrganizationId = '0199aaaa-1111-7222-8333-444455556666';

export const personExample = {
  user: { id: userIds.format(exampleUserId), email: 'ada@example.com', name: 'Ada' },
  organizations: [
    { id: organizationIds.format(exampleOrganizationId), name: 'Acme', slug: 'acme', role: 'owner' as const },
  ],
  temporalUrl: null,
};

export const revokedSchema = z.object({
  revoked: z.number().int().min(0).openapi({ description: 'How many sessions have ended, the current one included.' }),
});

const identitySchema = z
  .object({
    id: z.string(),
    issuer: z.string().openapi({ description: 'The OpenID provider.' }),
    isUsable: z.boolean().openapi({
      description: 'Whether this is the provider of the installation: identities of another one cannot sign in.',
    }),
    createdAt: z.iso.datetime(),
  })
  .openapi('Identity');
export const identitiesSchema = z.object({ identities: z.array(identitySchema) });

export const exampleIdentityId = identityIds.format('0199aaaa-cccc-7ddd-8eee-ffff00001111');
export const identitiesExample = {
  identities: [
    {
      id: exampleIdentityId,
      issuer: 'https://login.example.com',
      isUsable: true,
      createdAt: '2026-12-01T09:00:00.000Z',
    },
  ],
};
