import { AppError, invalid } from '../../platform/errors.ts';
import { newId } from '../../platform/ids.ts';
import type { Scope } from '../../platform/scope.ts';
import { notConnected } from '../errors.ts';
import { findConnection } from '../find-connection.ts';
import type { Integration } from '../integration.ts';
import { publishTrigger } from './publish-triggers.ts';

export interface TriggerServices {
  deliveries: { wake(): void };
}

/**
 * Lets an event happen in the sandbox, as if the provider had told of it.
 * @param data as the trigger declares it
 * @returns the event's id as a uuid, also where nobody listens
 * @throws AppError not_found for live keys and for an event that the integration does not have, not_connected,
 *   validation_error
 */
export async function triggerByHand(
  { deliveries }: TriggerServices,
  scope: Scope,
  integration: Integration,
  { event, data }: { event: string; data: unknown },
): Promise<string> {
  const trigger = Object.hasOwn(integration.triggers, event) ? integration.triggers[event] : undefined;
  const facts = { integrationId: integration.id, event };
  if (scope.tenant.environment !== 'test') throw new AppError('not_found', 'Only test keys trigger events.', facts);
  if (!trigger) throw new AppError('not_found', 'The integration has no such event.', facts);
  const read = trigger.data.safeParse(data);
  if (!read.success) {
    throw invalid(read.error.issues.map(({ path, message }) => ({ path: path.map(String).join('.'), message })));
  }
  const connected = await findConnection(scope, integration.id);
  if (!connected) throw notConnected(integration.id);
  const source = { integration, connectionId: connected.id };
  const eventId = await publishTrigger(scope, source, { trigger: event, data: read.data });
  deliveries.wake();
  return eventId ?? newId();
}
