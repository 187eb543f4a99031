import { keyIds } from '../../../../src/tenancy/core/ids.ts';
import type { ApiFeature } from '../../../mount.ts';
import { auditLogRoutes } from './audit-log.ts';
import { creditRoutes } from './credits.ts';
import { healthRoutes } from './health.ts';
import { keyRoutes } from './keys.ts';
import { memberRoutes } from './members.ts';
import { modelRoutes } from './models.ts';
import { organizationRoutes } from './organization.ts';
import { personRoutes } from './person.ts';
import { searchRoutes } from './search.ts';
import { statementRoutes } from './statements.ts';
import { usageRoutes } from './usage.ts';

export const account: ApiFeature = {
  tags: [
    { name: 'Keys', description: 'API keys of the organization: create, rename, rotate and revoke them.' },
    {
      name: 'Organization',
      description: 'The organization, its members, invitations, redirect addresses and audit log.',
    },
    {
      name: 'Account',
      description: "Verify a key, and read its organization's credits and usage, and the text models.",
    },
  ],
  example: {
    title: 'Account',
    text: 'Read the credits that remain, and what was used.',
    commands: ({ get }) => [get('/api/v1/credits'), get('/api/v1/usage')],
  },
  ids: [keyIds],
  securitySchemes: {
    session: {
      type: 'apiKey',
      in: 'cookie',
      name: '__Host-atelier',
      description:
        'The session of a person who is signed in at `/api/auth/sign-in`. Operations that take a key take it too, with the headers `X-Atelier-Organization` and `X-Atelier-Environment`.',
    },
  },
  routes: (services) => [
    healthRoutes(services),
    creditRoutes(services),
    usageRoutes(services),
    modelRoutes(services),
    personRoutes(services),
    keyRoutes(services),
    memberRoutes(services),
    organizationRoutes(services),
    auditLogRoutes(services),
    searchRoutes(services),
    statementRoutes(services),
  ],
};
