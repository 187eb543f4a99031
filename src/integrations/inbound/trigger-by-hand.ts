import type { IdempotencyClaim, Once } from '../../platform/database/idempotency.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { AppError, invalid } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import { findConnection } from '../connections/find-connection.ts';
import type { Integration } from '../definition/integration.ts';
import { notConnected } from '../errors.ts';
import { publishTrigger } from './publish-triggers.ts';

export interface TriggerServices {
  deliveries: { wake(): void };
}

/**
 * Lets an event happen in the sandbox, as if the provider had sent it. Once per Idempotency-Key.
 * @param data as the trigger declares it
 * @returns the event's id as a uuid, also where it has no subscriber
 * @throws AppError not_found for live keys and for an event that the integration does not have, not_connected,
 *   conflict while its access has expired, validation_error, idempotency_key_reused
 */
export async function triggerByHand(
  { deliveries }: TriggerServices,
  scope: Scope,
  integration: Integration,
  { event, data }: { event: string; data: unknown },
  claim?: IdempotencyClaim,
): Promise<Once<{ eventId: string }>> {
  const trigger = Object.hasOwn(integration.triggers, event) ? integration.triggers[event] : undefined;
  const facts = { integrationId: integration.id, event };
  if (scope.tenant.environment !== 'test') throw new AppError('not_found', 'Only test keys trigger events.', facts);
  if (!trigger) throw new AppError('not_found', 'The integration has no such event.', facts);
  const read = trigger.data.safeParse(data);
  if (!read.success) {
    throw invalid(read.error.issues.map(({ path, message }) => ({ path: path.map(String).join('.'), message })));
  }
  const publish = async (tx: Transaction) => {
    const connected = await findConnection(tx, integration.id);
    if (!connected) throw notConnected(integration.id);
    if (connected.status !== 'connected') {
      const expired = { integrationId: integration.id, status: connected.status };
      throw new AppError('conflict', 'The access has expired. Connect the integration again.', expired);
    }
    const source = { integration, connectionId: connected.id };
    return { eventId: (await publishTrigger(tx, source, { trigger: event, data: read.data })) ?? newId() };
  };
  const once = await scope.transaction(publish, { claim });
  if (!once.replayed) deliveries.wake();
  return once;
}
