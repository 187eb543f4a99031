import type { Database } from '../../platform/database/database.ts';
import type { Sealer } from '../../platform/security/crypto.ts';
import type { IntegrationClients } from '../connections/clients.ts';
import { openSandboxSecret } from '../connections/sandbox-account.ts';
import type { Inbound, InboundRequest, Notice } from '../definition/inbound.ts';
import type { Integration } from '../definition/integration.ts';
import type { ClientStates } from './client-states.ts';
import {
  connectionsById,
  connectionsOf,
  type EventsConnection,
  type LiveConnections,
} from './connections-of-accounts.ts';

interface ProofServices {
  database: Database;
  sealer: Sealer;
  clientStates: ClientStates;
  liveConnections: LiveConnections;
  integrations: { readonly clients: IntegrationClients };
}

/** A request that its provider has sent, or the owner of a sandbox. */
export interface Proven {
  /** The sandbox that the events are for; undefined for events of the provider. */
  sandbox?: EventsConnection;
  /** Undefined where the request is not in the provider's form. */
  notices: readonly Notice[] | undefined;
  /** The connections that an event is for. */
  connectionsFor(notice: Notice): readonly EventsConnection[];
}

/** Sandboxes with one account whose secrets are tried. Their account names are random. */
const maxSandboxes = 3;

const accountsOf = (notices: readonly Notice[]): string[] => [...new Set(notices.map(({ accountId }) => accountId))];

/** By a secret that signs everything the provider sends. */
async function byAccounts(
  { liveConnections }: ProofServices,
  { id }: Integration,
  notices: readonly Notice[] | undefined,
): Promise<Proven> {
  const found = await liveConnections.find(id, accountsOf(notices ?? []));
  const ofAccount = Map.groupBy(found, ({ accountId }) => accountId);
  return { notices, connectionsFor: ({ accountId }) => ofAccount.get(accountId) ?? [] };
}

/** By the texts that the events carry, one each. @returns undefined unless each of them is one of ours */
async function byClientStates(
  { database, clientStates }: ProofServices,
  { id }: Integration,
  notices: readonly Notice[],
): Promise<Proven | undefined> {
  const known = new Map<Notice, string>();
  for (const notice of notices) {
    const connectionId = notice.clientState === undefined ? undefined : clientStates.connectionOf(notice.clientState);
    if (connectionId === undefined) return undefined;
    known.set(notice, connectionId);
  }
  if (known.size === 0) return undefined;
  const found = await connectionsById(database, id, [...new Set(known.values())]);
  const byId = new Map(found.map((connection) => [connection.id, connection]));
  return {
    notices,
    connectionsFor(notice) {
      const connection = byId.get(known.get(notice)!);
      return connection?.environment === 'live' && connection.accountId === notice.accountId ? [connection] : [];
    },
  };
}

/** By the secret of the one sandbox whose account all events name: another organization does not know it. */
async function bySandbox(
  { database, sealer }: ProofServices,
  integration: Integration,
  { inbound, request, notices, now }: Claim,
): Promise<Proven | undefined> {
  const asked = inbound.accountOfHandshake?.(request);
  const [accountId, ...others] = notices && notices.length > 0 ? accountsOf(notices) : asked ? [asked] : [];
  // One signature is computed, whatever the request names.
  if (accountId === undefined || others.length > 0) return undefined;
  for (const connection of await connectionsOf(database, integration.id, [accountId], 'test', maxSandboxes)) {
    const { id, organizationId, environment, sealedSandboxSecret } = connection;
    if (sealedSandboxSecret === null) continue;
    const secret = openSandboxSecret(sealer, sealedSandboxSecret, id, { organizationId, environment });
    if (!inbound.verify(request, secret, now)) continue;
    return { sandbox: connection, notices, connectionsFor: () => [connection] };
  }
  return undefined;
}

interface Claim {
  inbound: Inbound;
  request: InboundRequest;
  notices: readonly Notice[] | undefined;
  now: number;
}

/**
 * Whether the provider signed a request, with the secret that signs everything it sends.
 * @param now in milliseconds
 * @returns undefined for a forgery, and for an event of a sandbox
 */
export async function proveProvider(
  services: ProofServices,
  integration: Integration,
  inbound: Inbound,
  request: InboundRequest,
  now: number,
): Promise<Proven | undefined> {
  const secret = services.integrations.clients.get(integration.id)?.inboundSecret;
  if (secret === undefined || !inbound.verify(request, secret, now)) return undefined;
  return byAccounts(services, integration, inbound.notices(request));
}

/**
 * Identifies the sender of a request: the provider, whose events are for connections of live keys, or the owner of a
 * sandbox, whose events are for that sandbox alone.
 * @param now in milliseconds
 * @returns undefined for a forgery
 * @throws SealError
 */
export async function proveSender(
  services: ProofServices,
  integration: Integration,
  inbound: Inbound,
  request: InboundRequest,
  now: number,
): Promise<Proven | undefined> {
  const byProvider = await proveProvider(services, integration, inbound, request, now);
  if (byProvider) return byProvider;
  const notices = inbound.notices(request);
  const byStates = notices && integration.push ? await byClientStates(services, integration, notices) : undefined;
  return byStates ?? (await bySandbox(services, integration, { inbound, request, notices, now }));
}
