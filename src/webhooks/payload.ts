import type { EventType } from '../platform/core/event-type.ts';
import { eventIds } from './core/ids.ts';

export interface StoredEvent {
  id: string;
  type: string;
  facts: unknown;
  createdAt: Date;
}

/** Every event type that a part declares, by name. */
export type EventCatalog = ReadonlyMap<string, EventType>;

/**
 * The request body of an event's deliveries: the same bytes on every attempt.
 * @throws Error when no part declares the type
 */
export function payloadOf(catalog: EventCatalog, { id, type, facts, createdAt }: StoredEvent): string {
  const declared = catalog.get(type);
  if (!declared) throw new Error(`No part declares the event type ${type}.`);
  return JSON.stringify({
    id: eventIds.format(id),
    type,
    ...(declared.repeatsType && { event: type }),
    createdAt: createdAt.toISOString(),
    data: declared.data(facts as never),
  });
}
