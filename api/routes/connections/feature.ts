import type { ApiFeature } from '../../mount.ts';
import { sandboxConsentRoutes, sandboxMeetingRoutes } from './sandbox-consents.ts';

/** Where test keys send the owners of accounts. */
export const sandboxConsents: ApiFeature = {
  tags: [],
  ids: [],
  routes: (services) => [sandboxConsentRoutes(services), sandboxMeetingRoutes()],
};
