import type { ConnectionServices } from '../connections/part.ts';
import type { Foundation } from '../foundation.ts';
import type { Part } from '../platform/part.ts';
import type { WebhookServices } from '../webhooks/part.ts';
import { integrationSettings, oauthProviders, openClients } from './clients.ts';
import { integrationCallbackPath, integrationPurpose, sandboxAuthorizePath } from './connect.ts';
import { integrationAuthExpired } from './core/events.ts';
import { integrationConnectionIds } from './core/ids.ts';
import { IntegrationConnection } from './entities.ts';
import { integrationErrors } from './errors.ts';
import { accessExpired } from './expired-access.ts';
import { failPoint } from './fail-points.ts';
import { Integrations } from './integrations.ts';
import { sealedColumns } from './sandbox-account.ts';

export interface IntegrationServices {
  integrations: Integrations;
}

/** Third-party tools that tenants connect: actions, and events that are delivered to webhooks. */
export const integrations: Part<Foundation & ConnectionServices & WebhookServices, IntegrationServices> = {
  name: 'integrations',
  settings: integrationSettings,
  entities: [IntegrationConnection],
  ids: [integrationConnectionIds],
  errors: integrationErrors,
  events: [integrationAuthExpired],
  auditActions: {
    'integration.connect': integrationConnectionIds,
    'integration.disconnect': integrationConnectionIds,
  },
  failPoints: failPoint.names,
  sealed: [{ table: 'integration_connection', columns: sealedColumns }],
  open({ env, connections, providerEgress, egress }) {
    const clients = openClients({ ...env });
    connections.declare({
      ...{ name: integrationPurpose, callbackPath: integrationCallbackPath, providers: oauthProviders(clients) },
      ...{ sandboxPath: sandboxAuthorizePath, onExpired: accessExpired },
    });
    return {
      integrations: new Integrations({
        ...{ connections, clients },
        egress: { named: providerEgress, guarded: egress },
      }),
    };
  },
};
