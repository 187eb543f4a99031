import type { ApiFeature } from '../../../mount.ts';
import { creditRoutes } from './credits.ts';
import { healthRoutes } from './health.ts';
import { modelRoutes } from './models.ts';
import { personRoutes } from './person.ts';
import { usageRoutes } from './usage.ts';

export const account: ApiFeature = {
  tags: [
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
  ids: [],
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
  ],
};
