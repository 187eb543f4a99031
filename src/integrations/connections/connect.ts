import { LockMode } from '@mikro-orm/postgresql';
import type { Asked, ConnectionServices, Grant, Tokens } from '../../connections/index.ts';
import { clock } from '../../platform/clock.ts';
import type { Background } from '../../platform/concurrency/background.ts';
import { lockForTransaction } from '../../platform/concurrency/tenant-locks.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { invalid, unavailable } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Sealer } from '../../platform/security/crypto.ts';
import type { LimitLookUp } from '../../tenancy/index.ts';
import type { Account } from '../calls/provider-call.ts';
import { findIntegration } from '../catalog.ts';
import type { HostedConsent, Integration } from '../definition/integration.ts';
import { IntegrationConnection } from '../entities.ts';
import { integrationNotFound } from '../errors.ts';
import { failPoint } from '../fail-points.ts';
import { endForgotten, endSubscriptions } from '../following/end-subscriptions.ts';
import { followKind, forgetFollowed, needsSchedule } from '../following/follow-work.ts';
import type { Integrations } from '../integrations.ts';
import { accountMs, isProvidersFault, storedAccount } from './account-of.ts';
import { findConnection } from './find-connection.ts';
import { forgetAccount } from './forget-account.ts';
import { newSandboxSecret, sandboxAccount } from './sandbox-account.ts';

/** The purpose of connections to integrations. */
export const integrationPurpose = 'integration';
export const integrationCallbackPath = '/api/v1/integrations/callback';

/** Path and query of the address that test keys send the owners of accounts to. */
export const sandboxAuthorizePath = ({
  provider: integration,
  state,
  redirectUri,
}: {
  provider: string;
  state: string;
  redirectUri: string;
}) =>
  `/api/v1/integrations/sandbox/authorize?${new URLSearchParams({ integration, redirect_uri: redirectUri, state })}`;

interface ConnectServices extends Pick<ConnectionServices, 'connections'> {
  database: Database;
  integrations: Integrations;
  sealer: Sealer;
  background: Background;
  log: Log;
}

interface NewConsent {
  /** As the caller wrote it. */
  integrationId: string;
  redirectUrl?: string | undefined;
  /** In place of the defaults. */
  scopes?: readonly string[] | undefined;
}

/** @throws AppError integration_not_found */
export function getIntegration(integrationId: string): Integration {
  const integration = findIntegration(integrationId);
  if (!integration) throw integrationNotFound(integrationId);
  return integration;
}

function checkScopes({ scopes: { all } }: Integration, scopes: readonly string[]): void {
  const errors = scopes.flatMap((scope, at) =>
    all.includes(scope) ? [] : [{ path: `scopes.${at}`, message: 'The integration has no such scope.' }],
  );
  if (errors.length > 0) throw invalid(errors);
}

/** Options of requests that precede a connection. */
const options = () => ({ idempotencyKey: newId(), signal: AbortSignal.timeout(accountMs), timeoutMs: accountMs });

/**
 * Requests access to an account. An existing connection stays until the callback.
 * @throws AppError integration_not_found; validation_error with path redirectUrl or scopes.<i>; provider_not_configured;
 *   rate_limit_exceeded; service_unavailable when the provider does not return its hosted page
 */
export async function beginConnect(
  { connections, integrations, log }: Pick<ConnectServices, 'connections' | 'integrations' | 'log'>,
  scope: Scope,
  { integrationId, redirectUrl, scopes }: NewConsent,
): Promise<{ authUrl: string; state: string; expiresIn: number }> {
  const integration = getIntegration(integrationId);
  if (scopes) checkScopes(integration, scopes);
  const { default: usual, required = [] } = integration.scopes;
  const asked = [...new Set([...(scopes ?? usual), ...required])];
  const question = { purpose: integrationPurpose, provider: integration.id, subject: {}, redirectUrl, scopes: asked };
  const hosted = hostedOf(integrations, scope, integration);
  if (!hosted) return connections.begin(scope, question);
  const { state, redirectUri, expiresIn } = await connections.ask(scope, question);
  const callbackUrl = `${redirectUri}?${new URLSearchParams({ state })}`;
  try {
    const call = integrations.callWith(integration.id, hosted.apiKey, options());
    return { authUrl: await hosted.consent.begin({ state, callbackUrl, call }), state, expiresIn };
  } catch (error) {
    if (!isProvidersFault(error)) throw error;
    log.warn({ err: error, integration: integration.id }, 'the page for a consent could not be created');
    throw unavailable(integration.name);
  }
}

/** The provider's hosted page for granting access, where it does not use OAuth. The sandbox needs none. */
function hostedOf(
  { clients }: Integrations,
  scope: Scope,
  { id }: Integration,
): { consent: HostedConsent; apiKey: string } | undefined {
  const consent = scope.tenant.environment === 'live' ? clients.get(id)?.consent : undefined;
  return consent?.kind === 'hosted' ? { consent: consent.hosted, apiKey: consent.apiKey } : undefined;
}

/** How a consent ended. */
export interface ConnectOutcome {
  integrationId: string;
  redirectUrl: string | null;
  error?: 'access_denied' | 'exchange_failed';
  /** Why the exchange failed, where the owner of the account or its provider can do something about it. */
  reason?: 'server_not_reached';
}

type Granted =
  | { account: Account; tokens: Tokens | null }
  | (Required<Pick<ConnectOutcome, 'error'>> & Pick<ConnectOutcome, 'reason'>);

/**
 * Connects the account whose owner granted access, in place of an earlier one.
 * @param query of the callback
 * @param limit of look-ups of the state
 * @throws AppError validation_error with path state for an answer to nothing that is open; what `limit` throws
 */
export async function finishConnect(
  services: ConnectServices,
  query: URLSearchParams,
  limit: LimitLookUp,
): Promise<ConnectOutcome> {
  const { connections, background } = services;
  const asked = await connections.take(query, integrationPurpose, limit);
  const integration = getIntegration(asked.provider);
  const { redirectUrl } = asked;
  const granted = await grantOf(services, integration, asked, query);
  if ('error' in granted) return { ...granted, integrationId: integration.id, redirectUrl };
  // While there is access: the one before loses it with its tokens.
  const before = await services.integrations.findConnection(asked.scope, integration.id);
  if (before && before.account.id !== granted.account.id) await endSubscriptions(services, asked.scope, before);
  const replaced = await keepConnection(services, asked.scope, integration, granted);
  failPoint('integration.connected');
  // The browser does not wait for the revocation.
  if (replaced) background.run('revoke a connection that was replaced', end(services, asked.scope, replaced));
  return { integrationId: integration.id, redirectUrl };
}

async function grantOf(
  { connections, integrations, log }: ConnectServices,
  integration: Integration,
  asked: Asked,
  query: URLSearchParams,
): Promise<Granted> {
  const { id } = integration;
  const { scope } = asked;
  try {
    const hosted = hostedOf(integrations, scope, integration);
    if (hosted) {
      if (hosted.consent.isDenied(query)) return { error: 'access_denied' };
      const call = integrations.callWith(id, hosted.apiKey, options());
      const account = await hosted.consent.finish({ state: query.get('state')!, query, call });
      return { account: storedAccount(account), tokens: null };
    }
    const exchanged = await connections.exchange(asked, query);
    if ('error' in exchanged) return exchanged;
    const { tokens } = exchanged;
    if (scope.tenant.environment === 'test') return { account: sandboxAccount(scope.tenant, integration), tokens };
    const account = storedAccount(
      await integration.accountOf(tokens.answer, integrations.callWith(id, tokens.accessToken, options())),
    );
    const isReached = await reachesServer(integrations, integration, account, tokens.accessToken).catch((error) => {
      if (!isProvidersFault(error)) throw error;
      log.warn({ err: error, integration: id }, 'the server of an account cannot be reached');
      return false;
    });
    return isReached ? { account, tokens } : { error: 'exchange_failed', reason: 'server_not_reached' };
  } catch (error) {
    if (!isProvidersFault(error)) throw error;
    log.warn({ err: error, integration: id }, 'the account of an integration could not be identified');
    return { error: 'exchange_failed' };
  }
}

/** Makes a request to the server that a provider named for an account: what cannot be reached is not connected. */
async function reachesServer(
  integrations: Integrations,
  integration: Integration,
  account: Account,
  accessToken: string,
): Promise<boolean> {
  if (!integrations.hasOwnServer(integration.id, account)) return true;
  await integration.test(integrations.callWith(integration.id, accessToken, options(), account));
  return true;
}

/** Access that was replaced by that to another account. */
interface Replaced {
  integrationId: string;
  account: Account;
  /** Undefined where the provider knows no OAuth. */
  grant: Grant | undefined;
  /** What was still subscribed at the provider. */
  subscriptionIds: readonly string[];
}

async function end(services: ConnectServices, scope: Scope, replaced: Replaced): Promise<void> {
  const { grant, integrationId, account, subscriptionIds } = replaced;
  await endForgotten(services, { integrationId, account, accessToken: grant?.accessToken, subscriptionIds });
  if (grant) await services.connections.revokeGrant(grant);
  else await forgetAccount(services, scope, integrationId, account.id);
}

/** @returns what is to be revoked: the access to another account that was connected before */
function keepConnection(
  { connections, sealer }: ConnectServices,
  scope: Scope,
  integration: Integration,
  { account, tokens }: { account: Account; tokens: Tokens | null },
): Promise<Replaced | undefined> {
  return scope.transaction(async (tx) => {
    await lockForTransaction(tx, `integration ${integration.id}`);
    const before = await findConnection(tx, integration.id);
    const isSame = before?.account.id === account.id;
    // Tokens are locked before the connection, as where access ends: two transactions never wait for each other.
    const access =
      tokens &&
      (await connections.keep(tx, {
        purpose: integrationPurpose,
        provider: integration.id,
        tokens,
        accountId: account.id,
        accountName: account.name,
      }));
    const grant = before?.connectionId && !isSame ? await connections.detach(tx, before.connectionId) : undefined;
    const lock = { lockMode: LockMode.PESSIMISTIC_WRITE };
    const known = await tx.em.findOne(IntegrationConnection, { integration: integration.id }, lock);
    let replaced: Replaced | undefined;
    if (known && !isSame) {
      const { accountId, accountName, details } = known;
      replaced = {
        integrationId: integration.id,
        account: { id: accountId, name: accountName, details },
        grant,
        subscriptionIds: await forgetFollowed(tx, integration.id, known.id),
      };
      tx.em.remove(known);
      await tx.em.flush();
    }
    const id = known && isSame ? known.id : newId();
    const kept = {
      connectionId: access?.id ?? null,
      accountName: account.name,
      details: { ...account.details },
      ...({ status: 'connected', connectedAt: clock.date(), eventsError: null, refusedResources: {} } as const),
    };
    if (known && isSame) Object.assign(known, kept);
    else {
      const sendsEvents = tx.tenant.environment === 'test' && integration.inbound !== undefined;
      const made = tx.em.create(IntegrationConnection, {
        id,
        ...tx.tenant,
        integration: integration.id,
        accountId: account.id,
        ...kept,
        sealedSandboxSecret: sendsEvents ? newSandboxSecret(sealer, id, tx.tenant) : null,
      });
      tx.em.persist(made);
    }
    if (needsSchedule(tx.tenant, integration.id)) {
      await tx.enqueue(followKind, id);
      // Events that came before access ended still wait for their data.
      if (known && isSame && integration.inbound?.fetch) await tx.enqueue('integration.fetch_events', id);
    }
    await tx.audit({
      action: 'integration.connect',
      subjectId: id,
      facts: { integration: integration.id, account: account.id },
    });
    return replaced;
  });
}
