import { statement } from '../../platform/database/sql.ts';
import type { Integration, Poll } from '../definition/integration.ts';
import { failPoint } from '../fail-points.ts';
import { publishTriggers, type TriggeredEvent } from '../inbound/publish-triggers.ts';
import type { Followed } from './followed.ts';

/** In one run. The rest waits for the next one. */
const maxPages = 50;
/** Events in one statement. */
const batchSize = 1_000;

const findCursor = statement({
  name: 'integration.poll_cursor',
  parameters: { connectionId: 'uuid' },
  row: { cursor: 'text' },
  text: `select cursor from integration_poll where organization_id = :organizationId and environment = :environment
    and connection_id = :connectionId`,
});
// The connection is locked until the events are committed: a connection that is removed at the same time gets no cursor
// and no events.
const saveCursor = statement({
  name: 'integration.save_poll_cursor',
  parameters: { connectionId: 'uuid', before: 'text?', cursor: 'text' },
  row: { saved: 'boolean' },
  text: `with own as (
     select id from integration_connection
      where organization_id = :organizationId and environment = :environment and id = :connectionId
        and status = 'connected' for update)
   insert into integration_poll (connection_id, organization_id, environment, cursor, polled_at)
   select id, :organizationId, :environment, :cursor, atelier_now() from own where :before is null
   on conflict (connection_id) do nothing returning true as saved`,
});
const moveCursor = statement({
  name: 'integration.move_poll_cursor',
  parameters: { connectionId: 'uuid', before: 'text?', cursor: 'text' },
  row: { saved: 'boolean' },
  text: `with own as (
     select id from integration_connection
      where organization_id = :organizationId and environment = :environment and id = :connectionId
        and status = 'connected' for update)
   update integration_poll p set cursor = :cursor, polled_at = atelier_now() from own
    where p.organization_id = :organizationId and p.environment = :environment and p.connection_id = own.id
      and p.cursor = :before
   returning true as saved`,
});
const forgetCursor = statement({
  name: 'integration.forget_poll_cursor',
  parameters: { connectionId: 'uuid' },
  text: `delete from integration_poll where organization_id = :organizationId and environment = :environment
    and connection_id = :connectionId`,
});

type Polled = Awaited<ReturnType<Poll['poll']>>;

/** The events as their triggers declare them. */
function eventsOf({ triggers }: Integration, { events }: Polled): TriggeredEvent[] {
  return events.flatMap(({ trigger, key, data }) => {
    const read = Object.hasOwn(triggers, trigger) ? triggers[trigger]!.data.safeParse(data) : undefined;
    return read?.success ? [{ trigger, key, data: read.data }] : [];
  });
}

/**
 * Polls for events from the cursor on. The events of a page and the next cursor commit together: after a crash the page is
 * requested again, and of two concurrent polls only one publishes it.
 * @returns how many events were published. @throws IntegrationFailure, AuthExpired
 */
export async function pollConnection(
  { scope, integration, connected: { id }, isSubscribed, use }: Followed,
  { poll }: Poll,
): Promise<number> {
  if (!isSubscribed) {
    await scope.rows(forgetCursor, { connectionId: id });
    return 0;
  }
  let known = (await scope.one(findCursor, { connectionId: id }))?.cursor ?? null;
  let published = 0;
  for (let pages = 0; pages < maxPages; pages++) {
    const before = known;
    const polled = await use((call) => poll(before, call));
    failPoint('integration.polled');
    const events = eventsOf(integration, polled);
    const ids = await scope.transaction(async (tx) => {
      if (
        !(await tx.one(before === null ? saveCursor : moveCursor, { connectionId: id, before, cursor: polled.cursor }))
      )
        return undefined;
      const written: string[] = [];
      for (let at = 0; at < events.length; at += batchSize) {
        const some = events.slice(at, at + batchSize);
        written.push(...(await publishTriggers(tx, { integration, connectionId: id }, some)));
      }
      return written;
    });
    failPoint('integration.poll_saved');
    if (!ids) return published;
    published += ids.length;
    if (!polled.more) return published;
    known = polled.cursor;
  }
  return published;
}
