import { AuthExpired } from '../../connections/index.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { newId } from '../../platform/ids.ts';
import { IntegrationFailure } from '../calls/failures.ts';
import { authExpired, notConnected, providerRateLimited } from '../errors.ts';
import type { Integrations } from '../integrations.ts';
import { isOutOfTime } from './account-of.ts';
import { getIntegration } from './connect.ts';
import { sandboxDetails } from './sandbox-account.ts';

/** The result of a request to the provider, and its duration in milliseconds. */
type Tested =
  | { success: true; latency: number; details: { workspace: string; user: string } }
  | { success: false; latency: number; details: { error: string } };

const timeoutMs = 10_000;
/** Where the provider asks to wait and does not say how long, in seconds. */
const usualWait = 60;
const maxWaitSeconds = 3_600;

/**
 * Asks the provider for the owner of a connection's account, with one request.
 * @throws AppError integration_not_found, not_connected, auth_expired, rate_limited; every other failure is part of the result
 */
export async function testConnection(
  { integrations }: { integrations: Integrations },
  scope: Scope,
  integrationId: string,
): Promise<Tested> {
  const integration = getIntegration(integrationId);
  const { id } = integration;
  const connected = await integrations.findConnection(scope, id);
  if (!connected) throw notConnected(id);
  if (connected.status === 'auth_expired') throw authExpired(id);
  let began = performance.now();
  const latency = () => Math.round(performance.now() - began);
  if (scope.tenant.environment === 'test') {
    return { success: true, latency: latency(), details: sandboxDetails(integration) };
  }
  const use = integrations.call(scope, connected, {
    idempotencyKey: newId(),
    signal: AbortSignal.timeout(2 * timeoutMs),
    timeoutMs,
  });
  try {
    const details = await use((call) => {
      // Neither a refresh of the token nor the database is the provider's latency.
      began = performance.now();
      return integration.test(call);
    });
    return { success: true, latency: latency(), details };
  } catch (error) {
    if (error instanceof AuthExpired) throw authExpired(id);
    if (isOutOfTime(error)) return { success: false, latency: latency(), details: { error: 'timeout' } };
    if (!(error instanceof IntegrationFailure)) throw error;
    const { kind, providerCode, retryAfterSeconds = usualWait } = error;
    if (kind === 'rate_limited')
      throw providerRateLimited(id, Math.min(Math.max(1, retryAfterSeconds), maxWaitSeconds));
    return { success: false, latency: latency(), details: { error: providerCode ?? kind } };
  }
}
