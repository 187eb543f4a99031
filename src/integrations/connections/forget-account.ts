import type { Database } from '../../platform/database/database.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { newId } from '../../platform/ids.ts';
import type { Log } from '../../platform/observability/log.ts';
import { connectionsOf } from '../inbound/connections-of-accounts.ts';
import type { Integrations } from '../integrations.ts';

const forgetMs = 5_000;

/**
 * Removes a disconnected account at a provider that does not use OAuth, within five seconds and ignoring failures. Does nothing
 * if another tenant has connected the same account.
 */
export async function forgetAccount(
  { database, integrations, log }: { database: Database; integrations: Integrations; log: Log },
  { tenant }: Scope,
  integrationId: string,
  accountId: string,
): Promise<void> {
  const consent = integrations.clients.get(integrationId)?.consent;
  if (tenant.environment !== 'live' || consent?.kind !== 'hosted') return;
  try {
    if ((await connectionsOf(database, integrationId, [accountId], 'live', 1)).length > 0) return;
    const options = { idempotencyKey: newId(), signal: AbortSignal.timeout(forgetMs), timeoutMs: forgetMs };
    const call = integrations.callWith(integrationId, consent.apiKey, options);
    await consent.hosted.forget({ accountId, call });
  } catch (error) {
    log.warn({ err: error, integration: integrationId }, 'a provider could not be asked to forget an account');
  }
}
