import { attemptAll } from '../../platform/concurrency/attempt-all.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { newId } from '../../platform/ids.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { Account } from '../calls/provider-call.ts';
import { findIntegration } from '../catalog.ts';
import type { Connected } from '../connections/find-connection.ts';
import type { Integrations } from '../integrations.ts';
import { needsSchedule } from './follow-work.ts';
import { endPushed } from './push-connection.ts';

/** Limit on deleting subscriptions at the provider before access to the account ends. */
const endMs = 5_000;

const optionsUntil = (signal: AbortSignal) => ({ idempotencyKey: newId(), signal, timeoutMs: endMs });

/** Ends the requests to a provider that has not answered in time. */
export const endingLimit = (): AbortSignal => AbortSignal.timeout(endMs);

/**
 * Deletes the provider's subscriptions of a connection that is about to be removed, best effort. Without access they cannot be
 * deleted, and would continue for days. If the connection stays after all, its next run subscribes again.
 */
export async function endSubscriptions(
  { integrations, log }: { integrations: Integrations; log: Log },
  scope: Scope,
  connected: Connected,
  limit = endingLimit(),
): Promise<void> {
  const { integrationId } = connected;
  const push = findIntegration(integrationId)?.push;
  if (!push || connected.status !== 'connected' || !needsSchedule(scope.tenant, integrationId)) return;
  try {
    await endPushed({ scope, connected, use: integrations.call(scope, connected, optionsUntil(limit)) }, push);
  } catch (error) {
    log.warn({ err: error, integration: integrationId }, 'the subscriptions of a connection could not be ended');
  }
}

/** The subscriptions of a connection that were recorded when it was removed, and the last access to its account. */
export interface ForgottenSubscriptions {
  integrationId: string;
  account: Account;
  accessToken: string | null | undefined;
  /** The provider's. */
  subscriptionIds: readonly string[];
}

/**
 * Deletes the subscriptions that a run made while `endSubscriptions` deleted those before them, best effort. To be called
 * after the commit that removed the connection, and before its access is revoked.
 */
export async function endForgotten(
  { integrations, log }: { integrations: Integrations; log: Log },
  { integrationId, account, accessToken, subscriptionIds }: ForgottenSubscriptions,
  limit = endingLimit(),
): Promise<void> {
  const push = findIntegration(integrationId)?.push;
  if (!push || !accessToken || subscriptionIds.length === 0) return;
  try {
    const call = integrations.callWith(integrationId, accessToken, optionsUntil(limit), account);
    await attemptAll(subscriptionIds, (id) => push.remove(id, call));
  } catch (error) {
    log.warn(
      { err: error, integration: integrationId },
      'the subscriptions of a removed connection could not be ended',
    );
  }
}
