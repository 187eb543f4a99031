import { inBatches } from '../../platform/database/batches.ts';
import type { Database } from '../../platform/database/database.ts';
import { systemStatement } from '../../platform/database/sql.ts';
import { systemTransaction } from '../../platform/database/unit-of-work.ts';
import { openRun } from '../core/run-status.ts';

// A step that the event resumed has not taken it yet.
const isNeeded = (event: string) => `exists (
  select from run_wait w join run r on r.id = w.run_id
   where w.event_id = ${event} and w.outcome::text = 'true' and r.status in (${openRun}))`;

const findOld = (name: string, isOld: string) =>
  systemStatement({
    name,
    parameters: { max: 'int' },
    row: { id: 'uuid' },
    text: `
      select e.id from workflow_event e where e.is_complete and ${isOld} and not ${isNeeded('e.id')}
       order by e.received_at limit :max for update of e skip locked`,
  });

// An hour for steps that look back, and a day for who sends an event again.
const findEmptied = findOld(
  'workflow_event.find_emptied',
  `e.received_at < atelier_statement_now() - interval '65 minutes' and e.received_at > atelier_statement_now() - interval '3 hours'
       and e.content is not null and not exists (select from event_start s where s.event_id = e.id)`,
);

const emptyOld = systemStatement({
  name: 'workflow_event.empty',
  parameters: { ids: 'uuid[]' },
  row: { count: 'int' },
  text: `
    with emptied as (
      update workflow_event e set content = null where id = any(:ids) and not ${isNeeded('e.id')} returning 1)
    select count(*)::int as count from emptied`,
});

const findRemoved = findOld(
  'workflow_event.find_removed',
  `e.received_at < atelier_statement_now() - interval '25 hours'`,
);

const removeOld = systemStatement({
  name: 'workflow_event.remove',
  parameters: { ids: 'uuid[]' },
  row: { count: 'int' },
  text: `
    with gone as (delete from workflow_event e where id = any(:ids) and not ${isNeeded('e.id')} returning 1)
    select count(*)::int as count from gone`,
});

/** The second statement sees the waits that ended with an event until the first one had locked it. Later none can. */
const forgetSome = (database: Database, find: typeof findEmptied, forget: typeof emptyOld) =>
  inBatches((max) =>
    systemTransaction(database, async (tx) => {
      const ids = (await tx.rows(find, { max })).map(({ id }) => id);
      return ids.length === 0 ? 0 : (await tx.one(forget, { ids }))!.count;
    }),
  );

/**
 * Removes the data of events that no step can look back to, and events that are older than a day; not while a step that
 * one has resumed is still to take it.
 */
export async function forgetEvents(database: Database): Promise<number> {
  return (await forgetSome(database, findEmptied, emptyOld)) + (await forgetSome(database, findRemoved, removeOld));
}
