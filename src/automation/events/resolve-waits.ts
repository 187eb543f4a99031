import { statement } from '../../platform/database/sql.ts';
import { enqueueSql, replacingEarlier } from '../../platform/outbox/enqueue.ts';

/** Ends open waits with an event and has their runs proceed, as `resolveWait` does. Returns a row for each run. */
export const resolveWaits = statement({
  name: 'run_wait.resolve_all',
  parameters: { ids: 'uuid[]', eventId: 'uuid', outcome: 'text', correlationId: 'text' },
  row: { id: 'uuid', entryId: 'uuid' },
  text: `
    with resolved as (
      update run_wait set state = 'resolved', outcome = :outcome::json, event_id = :eventId, resolved_at = clock_timestamp()
       where organization_id = :organizationId and environment = :environment and id = any(:ids) and state = 'open'
      returning run_id),
    runs as (select distinct run_id from resolved order by run_id),
    enqueued as (
      ${enqueueSql('run.proceed', { subject: 'run_id', correlation: ':correlationId', from: 'runs' })}
      ${replacingEarlier}
      returning id, subject_id)
    select subject_id as id, id as "entryId" from enqueued`,
  enqueues: { 'run.proceed': ({ id, entryId }) => ({ subjectId: id, entryId }) },
});
