import type { ApiFeature } from '../../mount.ts';
import { operationRoutes } from './health.ts';
import { vitalRoutes } from './vitals.ts';

export const operations: ApiFeature = {
  tags: [{ name: 'Operations', description: 'For load balancers, browsers and the operator of the installation.' }],
  ids: [],
  securitySchemes: {
    cronSecret: {
      type: 'http',
      scheme: 'bearer',
      description: 'The CRON_SECRET of the installation. Only its operator has it.',
    },
  },
  routes: (services, build) => [operationRoutes(services, build), vitalRoutes(services)],
};
