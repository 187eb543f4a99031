import type { Transaction } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { enqueueSql, replacingEarlier } from '../../platform/outbox/enqueue.ts';
import type { EventValue } from '../bounded/match-event.ts';
import type { StoredOutcome } from '../core/waits.ts';

// The lock keeps the sweep of old events from removing its data until the commit.
const resolveStatement = statement({
  name: 'run_wait.resolve_all',
  parameters: { ids: 'uuid[]', eventId: 'uuid', outcome: 'text', correlationId: 'text' },
  row: { id: 'uuid', entryId: 'uuid' },
  text: `
    with event as (
      select id from workflow_event
       where organization_id = :organizationId and environment = :environment and id = :eventId and content is not null
         for key share),
    resolved as (
      update run_wait set state = 'resolved', outcome = :outcome::json, event_id = :eventId, resolved_at = atelier_now()
       where organization_id = :organizationId and environment = :environment and id = any(:ids) and state = 'open'
         and exists (select from event)
      returning run_id),
    runs as (select distinct run_id from resolved order by run_id),
    enqueued as (
      ${enqueueSql('run.proceed', { subject: 'run_id', correlation: ':correlationId', from: 'runs' })}
      ${replacingEarlier}
      returning id, subject_id)
    select subject_id as id, id as "entryId" from enqueued`,
  enqueues: { 'run.proceed': ({ id, entryId }) => ({ subjectId: id, entryId }) },
});

/** Characters of an event as JSON that each wait has itself. Waits refer to a larger one. */
const maxCopied = 1_024;

function outcomeOf(value: EventValue): string {
  const copied = JSON.stringify({ output: value } satisfies StoredOutcome);
  return copied.length <= maxCopied ? copied : JSON.stringify(true satisfies StoredOutcome);
}

/**
 * Ends open waits with an event and has their runs proceed, as `resolveWait` does.
 * @returns whether there were any, and the event still has its data
 */
export async function resolveWaits(
  tx: Transaction,
  ids: readonly string[],
  event: { id: string; correlationId: string },
  value: EventValue,
): Promise<boolean> {
  const { id: eventId, correlationId } = event;
  const given = { ids: [...ids], eventId, outcome: outcomeOf(value), correlationId };
  return (await tx.rows(resolveStatement, given)).length > 0;
}
