import type { EventType } from '../../platform/core/event-type.ts';
import { type JsonSchema, object, oneOf, text, time } from '../../platform/core/json-schema.ts';
import { eventIds } from './ids.ts';

/** An event as it is stored. */
export interface StoredEvent {
  id: string;
  type: string;
  facts: unknown;
  createdAt: Date;
}

/** An event as receivers get it. */
export interface EventBody {
  /** `evt_…` */
  id: string;
  type: string;
  /** The same as `type`, in events whose declaration repeats it. */
  event?: string;
  /** ISO 8601, in UTC. */
  createdAt: string;
  data: object;
}

/** The rest of an event whose content was removed. */
interface ExpungedEventBody extends Omit<EventBody, 'data'> {
  data: null;
  /** ISO 8601, in UTC. */
  contentExpungedAt: string;
}

const headOf = (declared: EventType, { id, type, createdAt }: Omit<StoredEvent, 'facts'>) => ({
  id: eventIds.format(id),
  type,
  ...(declared.repeatsType && { event: type }),
  createdAt: createdAt.toISOString(),
});

/** The body of an event as it is published. */
export const bodyOf = (declared: EventType, event: StoredEvent): EventBody => ({
  ...headOf(declared, event),
  data: declared.data(event.facts as never),
});

export const expungedBodyOf = (
  declared: EventType,
  event: Omit<StoredEvent, 'facts'>,
  at: Date,
): ExpungedEventBody => ({
  ...headOf(declared, event),
  data: null,
  contentExpungedAt: at.toISOString(),
});

/** What an event is about: the id in its data, or its own where that has none. */
export function subjectOf({ id, data }: EventBody): string {
  const { id: subject } = data as { id?: unknown };
  return typeof subject === 'string' || typeof subject === 'number' ? String(subject) : id;
}

/** The body of an event for receivers that read the rest themselves. */
export const thinBodyOf = (body: EventBody): EventBody => ({
  id: body.id,
  type: body.type,
  createdAt: body.createdAt,
  data: { id: subjectOf(body) },
});

/** The JSON Schema of the body of a type. */
export function bodySchemaOf({ type, description, members, repeatsType, deprecated }: EventType): JsonSchema {
  const head = {
    id: text('`evt_…`, the same on every attempt and replay.'),
    type: oneOf([type]),
    ...(repeatsType && { event: oneOf([type], 'The same word as `type`.') }),
    createdAt: time('When the event happened.'),
  };
  const schema = object<EventBody>({ ...head, data: object<Record<string, unknown>>(members) } as never);
  return { ...schema, description, ...(deprecated && { deprecated: true }) };
}

const exampleId = '0199eeee-ffff-7000-8111-22223333bbbb';
const exampleTime = new Date('2026-11-21T09:30:00.000Z');

/** The published example of a type. */
export const exampleBodyOf = (declared: EventType): EventBody =>
  bodyOf(declared, { id: exampleId, type: declared.type, facts: declared.example, createdAt: exampleTime });
