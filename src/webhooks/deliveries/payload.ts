import type { EventType } from '../../platform/core/event-type.ts';
import type { PayloadForm } from '../core/delivery-options.ts';
import { bodyOf, type StoredEvent, thinBodyOf } from '../core/event-body.ts';
import type { EventCatalog } from '../core/event-catalog.ts';
import { eventIds } from '../core/ids.ts';
import { withSignature } from '../dispatch/sign.ts';

function declaredIn(catalog: EventCatalog, type: string): EventType {
  const declared = catalog.get(type);
  if (!declared) throw new Error(`No part declares the event type ${type}.`);
  return declared;
}

/**
 * The request body of an event's deliveries: the same bytes on every attempt, until the webhook gets the other form.
 * @throws Error when no part declares the type
 */
export function payloadOf(catalog: EventCatalog, event: StoredEvent, form: PayloadForm): string {
  const body = bodyOf(declaredIn(catalog, event.type), event);
  return JSON.stringify(form === 'thin' ? thinBodyOf(body) : body);
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
