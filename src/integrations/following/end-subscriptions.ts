import type { Scope } from '../../platform/database/scope.ts';
import { newId } from '../../platform/ids.ts';
import type { Log } from '../../platform/observability/log.ts';
import { findIntegration } from '../catalog.ts';
import type { Connected } from '../connections/find-connection.ts';
import type { Integrations } from '../integrations.ts';
import { needsSchedule } from './follow-work.ts';
import { endPushed } from './push-connection.ts';

/** Limit on deleting subscriptions at the provider before access to the account ends. */
const endMs = 5_000;

/**
 * Deletes the provider's subscriptions of a connection that is about to be removed, best effort. Without access they cannot be
 * deleted, and would continue for days. If the connection stays after all, its next run subscribes again.
 */
export async function endSubscriptions(
  { integrations, log }: { integrations: Integrations; log: Log },
  scope: Scope,
  connected: Connected,
): Promise<void> {
  const { integrationId } = connected;
  const push = findIntegration(integrationId)?.push;
  if (!push || connected.status !== 'connected' || !needsSchedule(scope.tenant, integrationId)) return;
  const options = { idempotencyKey: newId(), signal: AbortSignal.timeout(endMs), timeoutMs: endMs };
  try {
    await endPushed({ scope, connected, use: integrations.call(scope, connected, options) }, push);
  } catch (error) {
    log.warn({ err: error, integration: integrationId }, 'the subscriptions of a connection could not be ended');
  }
}
