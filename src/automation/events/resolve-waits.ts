import { statement } from '../../platform/database/sql.ts';
import { enqueueSql, replacingEarlier } from '../../platform/outbox/enqueue.ts';

/** Ends open waits with the same output and has their runs proceed, as `resolveWait` does. Returns a row for each run. */
export const resolveWaits = statement({
  name: 'run_wait.resolve_all',
  parameters: { ids: 'uuid[]', outcome: 'text', correlationId: 'text' },
  row: { id: 'uuid', entryId: 'uuid', waits: 'int' },
  text: `
    with resolved as (
      update run_wait set state = 'resolved', outcome = :outcome::json, resolved_at = clock_timestamp()
       where organization_id = :organizationId and environment = :environment and id = any(:ids) and state = 'open'
      returning run_id),
    runs as (select run_id, count(*)::int as waits from resolved group by run_id order by run_id),
    enqueued as (
      ${enqueueSql('run.proceed', { subject: 'run_id', correlation: ':correlationId', from: 'runs' })}
      ${replacingEarlier}
      returning id, subject_id)
    select e.subject_id as id, e.id as "entryId", r.waits from enqueued e join runs r on r.run_id = e.subject_id`,
  enqueues: { 'run.proceed': ({ id, entryId }) => ({ subjectId: id, entryId }) },
});
