import type { Scope } from '../platform/database/scope.ts';
import type { Sealer } from '../platform/security/crypto.ts';
import { catalog } from './catalog.ts';
import { listConnections } from './connections/find-connection.ts';
import { openSandboxSecret } from './connections/sandbox-account.ts';
import type { IntegrationStatus } from './core/connection-status.ts';
import type { Category } from './definition/integration.ts';

export interface IntegrationView {
  id: string;
  name: string;
  description: string;
  category: Category;
  connected: boolean;
  status: IntegrationStatus | 'not_connected';
  connectedAt?: Date;
  account?: { id: string; name: string };
  /** Why events of the provider do not arrive: its code, or the kind of the failure. */
  eventsError?: string;
  /** How a tester sends an event that the provider would send. */
  sandbox?: { eventsUrl: string; account: string; signingSecret: string };
  features: { triggers: string[]; actions: string[] };
}

/**
 * Every integration, and the tenant's connection to it.
 * @param publicUrl without a slash at its end
 * @throws SealError
 */
export async function listIntegrations(
  { sealer, publicUrl }: { sealer: Sealer; publicUrl: string },
  scope: Scope,
): Promise<IntegrationView[]> {
  const connections = new Map((await listConnections(scope)).map((one) => [one.integrationId, one]));
  return catalog.map(({ id, name, description, category, triggers, actions }) => {
    const known = connections.get(id);
    const features = { triggers: Object.keys(triggers), actions: Object.keys(actions) };
    if (!known) return { id, name, description, category, connected: false, status: 'not_connected', features };
    const { account, status, connectedAt, eventsError, sealedSandboxSecret: sealed } = known;
    const connected = status === 'connected';
    const sandbox = sealed !== null &&
      connected && {
        sandbox: {
          eventsUrl: `${publicUrl}/api/v1/integrations/${id}/events`,
          account: account.id,
          signingSecret: openSandboxSecret(sealer, sealed, known.id, scope.tenant),
        },
      };
    return {
      id,
      name,
      description,
      category,
      connected,
      status,
      ...(connected && { connectedAt, account: { id: account.id, name: account.name } }),
      ...(connected && eventsError !== null && { eventsError }),
      ...sandbox,
      features,
    };
  });
}
