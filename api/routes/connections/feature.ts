import type { ApiFeature } from '../../mount.ts';
import { inboundTag } from '../../schemas/inbound.ts';
import { sandboxConsentRoutes, sandboxMeetingRoutes } from './sandbox-consents.ts';

/** Where test keys send the owners of accounts. */
export const sandboxConsents: ApiFeature = {
  tags: [inboundTag],
  ids: [],
  routes: (services) => [sandboxConsentRoutes(services), sandboxMeetingRoutes()],
};
