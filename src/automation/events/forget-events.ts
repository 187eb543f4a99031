import { inBatches } from '../../platform/database/batches.ts';
import type { Database } from '../../platform/database/database.ts';
import { sqlOn, systemStatement } from '../../platform/database/sql.ts';

// An hour for steps that look back, and a day for who sends an event again.
const emptyOld = systemStatement({
  name: 'workflow_event.empty',
  parameters: { max: 'int' },
  row: { count: 'int' },
  text: `
    with emptied as (
      update workflow_event set content = null
       where id = any(array(select id from workflow_event
                             where is_complete and received_at < now() - interval '65 minutes'
                               and received_at > now() - interval '3 hours' and content is not null
                               and not exists (select from event_start s where s.event_id = workflow_event.id)
                             order by received_at limit :max))
      returning 1)
    select count(*)::int as count from emptied`,
});

const removeOld = systemStatement({
  name: 'workflow_event.remove',
  parameters: { max: 'int' },
  row: { count: 'int' },
  text: `
    with gone as (
      delete from workflow_event
       where id = any(array(select id from workflow_event
                             where is_complete and received_at < now() - interval '25 hours'
                             order by received_at limit :max))
      returning 1)
    select count(*)::int as count from gone`,
});

/** Removes the data of events that no step can look back to, and events that are older than a day. */
export async function forgetEvents(database: Database): Promise<number> {
  const sql = sqlOn(database.pool);
  const emptied = await inBatches(async (max) => (await sql.one(emptyOld, { max }))!.count);
  return emptied + (await inBatches(async (max) => (await sql.one(removeOld, { max }))!.count));
}
