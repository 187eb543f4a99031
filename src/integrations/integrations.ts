import {
  AccessTokenRefused,
  AuthExpired,
  AuthorizationFailure,
  ConnectionMissing,
  type Connections,
} from '../connections/index.ts';
import type { Scope } from '../platform/database/scope.ts';
import { IntegrationFailure } from './calls/failures.ts';
import type { Account, ProviderCall } from './calls/provider-call.ts';
import { type ProviderCallOptions, providerCall, type TokenAccess } from './calls/provider-http.ts';
import { findIntegration } from './catalog.ts';
import type { IntegrationClients } from './connections/clients.ts';
import { connectionExpired } from './connections/expired-access.ts';
import { type Connected, findConnection, findConnectionById } from './connections/find-connection.ts';
import type { Integration, IntegrationClient } from './definition/integration.ts';
import { notConnected } from './errors.ts';

const noAccount: Account = { id: '', name: '', details: {} };

export type CallOptions = Pick<ProviderCallOptions, 'idempotencyKey' | 'signal' | 'timeoutMs' | 'changes'>;

interface Parts {
  connections: Connections;
  clients: IntegrationClients;
  egress: ProviderCallOptions['egress'];
}

/** The integrations of an installation, and what tenants connected of them. */
export class Integrations {
  readonly clients: IntegrationClients;
  readonly #connections: Connections;
  readonly #egress: ProviderCallOptions['egress'];

  constructor({ connections, clients, egress }: Parts) {
    this.clients = clients;
    this.#connections = connections;
    this.#egress = egress;
  }

  /** @returns undefined where nothing is connected; one whose access ended is returned with its status */
  findConnection(scope: Scope, integrationId: string): Promise<Connected | undefined> {
    return findConnection(scope, integrationId);
  }

  /** Whether requests for an account go to a server of its own, which the provider named. */
  hasOwnServer(integrationId: string, { details }: Account): boolean {
    const { client } = this.#clientOf(integrationId);
    return client.baseUrl(details) !== client.baseUrl({});
  }

  /**
   * Requests with a token that belongs to no connection yet.
   * @param account without one, requests go to the address that the environment names
   * @throws AppError not_connected without a client; each request throws AccessTokenRefused and IntegrationFailure
   */
  callWith(integrationId: string, token: string, options: CallOptions, account = noAccount): ProviderCall {
    return providerCall({
      ...options,
      ...this.#clientOf(integrationId),
      account,
      egress: this.#egress,
      access: (work) => work(token),
    });
  }

  /**
   * Lends requests to the provider of a connection. Its access token is refreshed before its end, and once when the provider
   * refuses it. Not in the sandbox, which reaches no provider.
   * @returns a function that does the work and throws what the work throws. A request throws AuthExpired where access has
   *   ended, which is then reported once; IntegrationFailure, `not_done` where no token can be had at the moment; AppError
   *   not_connected where the connection was removed meanwhile
   */
  call(scope: Scope, connected: Connected, options: CallOptions) {
    return async <T>(work: (call: ProviderCall) => Promise<T>): Promise<T> => {
      if (scope.tenant.environment === 'test') throw new Error('The sandbox reaches no provider.');
      if (connected.status === 'auth_expired') throw new AuthExpired();
      const { integration, client } = this.#clientOf(connected.integrationId);
      const access =
        connected.connectionId === null
          ? this.#keyAccess(scope, connected, client)
          : this.#tokenAccess(scope, connected.integrationId, connected.connectionId);
      const { account } = connected;
      return work(providerCall({ ...options, integration, client, account, access, egress: this.#egress }));
    };
  }

  /**
   * Marks a connection whose access has ended, and reports it once. A connection that has since been connected again is
   * not marked.
   */
  async authExpired(scope: Scope, { id, connectionId, connectedAt }: Connected): Promise<void> {
    if (connectionId === null) return scope.transaction((tx) => connectionExpired(tx, id, connectedAt));
    await this.#connections.expire(scope, connectionId, async () => {
      const now = await findConnectionById(scope, id);
      return now?.connectedAt.getTime() === connectedAt.getTime();
    });
  }

  /**
   * Handles a notice of the provider: our access to an account ended.
   * @param at what was connected later than this stays
   */
  async accessEnded(scope: Scope, id: string, at: Date): Promise<void> {
    const connected = await findConnectionById(scope, id);
    if (connected?.status === 'connected' && connected.connectedAt <= at) await this.authExpired(scope, connected);
  }

  #tokenAccess(scope: Scope, integrationId: string, connectionId: string): TokenAccess {
    return async (work) => {
      try {
        return await this.#connections.withAccessToken(scope, connectionId, work);
      } catch (error) {
        if (error instanceof ConnectionMissing) throw notConnected(integrationId);
        if (error instanceof AuthorizationFailure) throw noToken(error);
        throw error;
      }
    };
  }

  /** The client's key replaces a token: it cannot be refreshed for one account. */
  #keyAccess(scope: Scope, connected: Connected, { consent }: IntegrationClient): TokenAccess {
    if (consent.kind !== 'hosted') throw notConnected(connected.integrationId);
    return async (work) => {
      try {
        return await work(consent.apiKey);
      } catch (error) {
        if (!(error instanceof AccessTokenRefused)) throw error;
        await this.authExpired(scope, connected);
        throw new AuthExpired();
      }
    };
  }

  /** @throws AppError not_connected where the client was taken away since the account was connected */
  #clientOf(integrationId: string): { integration: Integration; client: IntegrationClient } {
    const [integration, client] = [findIntegration(integrationId), this.clients.get(integrationId)];
    if (!integration || !client) throw notConnected(integrationId);
    return { integration, client };
  }
}

/** That no token can be had at the moment, as any other request that was not made. */
function noToken({ retryAfterMs, cause, code }: AuthorizationFailure): IntegrationFailure {
  return new IntegrationFailure('not_done', {
    providerCode: code,
    cause,
    ...(retryAfterMs !== undefined && { retryAfterSeconds: Math.ceil(retryAfterMs / 1_000) }),
  });
}
