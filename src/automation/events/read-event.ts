import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import type { EventValue } from '../bounded/match-event.ts';
import { eventValueOf, type MatchServices } from './event-value.ts';

const findEvent = statement({
  name: 'workflow_event.of_wait',
  parameters: { id: 'uuid' },
  row: { externalId: 'text', type: 'text', isOwn: 'boolean', content: 'text', receivedAt: 'timestamptz' },
  text: `
    select external_id as "externalId", type, is_own as "isOwn", content::text as content, received_at as "receivedAt"
      from workflow_event
     where organization_id = :organizationId and environment = :environment and id = :id and content is not null`,
});

/** The event that ended a wait. @throws Error when its data is gone */
export async function readEvent(
  { events }: Pick<MatchServices, 'events'>,
  scope: Scope,
  id: string,
): Promise<EventValue> {
  const event = await scope.one(findEvent, { id });
  if (!event) throw new Error(`The event ${id} that a run has not taken yet is gone.`);
  return eventValueOf(events, event);
}
