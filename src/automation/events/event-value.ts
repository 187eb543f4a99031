import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import type { EventType } from '../../platform/core/event-type.ts';
import type { RowWith } from '../../platform/database/sql-types.ts';
import type { Files } from '../../storage/index.ts';
import type { EventValue } from '../bounded/match-event.ts';

export interface MatchServices {
  boundedWork: BoundedWork;
  files: Files;
  /** The event types of the platform. */
  events: ReadonlyMap<string, EventType>;
}

/** The part of an event that a statement reads. */
export const eventRow = {
  id: 'uuid',
  type: 'text',
  externalId: 'text',
  isOwn: 'boolean',
  content: 'text',
  chain: 'text?',
  correlationId: 'text',
  receivedAt: 'timestamptz',
} as const;

export type EventRow = Pick<RowWith<typeof eventRow>, 'externalId' | 'type' | 'isOwn' | 'content' | 'receivedAt'>;

/** An event as expressions, runs and callers see it. */
export function eventValueOf(
  events: MatchServices['events'],
  { externalId: id, type, isOwn, content, receivedAt }: EventRow,
): EventValue {
  const facts = JSON.parse(content);
  const data = isOwn ? JSON.parse(JSON.stringify(events.get(type)?.data(facts as never) ?? {})) : facts;
  return { id, type, data, receivedAt: receivedAt.toISOString() };
}
