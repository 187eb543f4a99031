import type { EventType } from '../../platform/core/event-type.ts';
import { eventIds } from '../core/ids.ts';
import { withSignature } from '../dispatch/sign.ts';

export interface StoredEvent {
  id: string;
  type: string;
  facts: unknown;
  createdAt: Date;
}

/** Every event type that a part declares, by name. */
export type EventCatalog = ReadonlyMap<string, EventType>;

function declaredIn(catalog: EventCatalog, type: string): EventType {
  const declared = catalog.get(type);
  if (!declared) throw new Error(`No part declares the event type ${type}.`);
  return declared;
}

/**
 * The request body of an event's deliveries: the same bytes on every attempt.
 * @throws Error when no part declares the type
 */
export function payloadOf(catalog: EventCatalog, { id, type, facts, createdAt }: StoredEvent): string {
  const declared = declaredIn(catalog, type);
  return JSON.stringify({
    id: eventIds.format(id),
    type,
    ...(declared.repeatsType && { event: type }),
    createdAt: createdAt.toISOString(),
    data: declared.data(facts as never),
  });
}

/**
 * The same to a webhook of an integration, which has another form and its own signature as the last member: the same bytes
 * on every attempt until the secret is rotated.
 * @param receiver its integration and its current secret
 * @throws Error when no part declares the type
 */
export function integrationPayloadOf(
  catalog: EventCatalog,
  { id, type, facts, createdAt }: StoredEvent,
  { integration, secret }: { integration: string; secret: string },
): string {
  const { integration: _, ...data } = declaredIn(catalog, type).data(facts as never) as { integration?: string };
  const timestamp = createdAt.toISOString();
  return withSignature({ id: eventIds.format(id), type, timestamp, integration, data }, secret);
}
