import type { Database } from '../platform/database.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import { eventIdOf } from './publish-event.ts';

// Events are kept longer than their deliveries. A delivery without one would never be filled, so it gets no name.
const fillTypes = statement<{ count: number }>(
  'delivery.fill_event_types',
  `with filled as (
     update delivery d
        set event_type = coalesce((select e.type from event e where e.id = ${eventIdOf('d')}), '')
      where d.id in (select id from delivery where event_type is null limit $1 for update skip locked)
     returning d.id)
   select count(*)::int as count from filled`,
);

const perStatement = 500;
/** What one call fills at most: the table of a large installation is rewritten over hours, and not at once. */
const perCall = 10_000;

/**
 * Fills the event type of deliveries that earlier versions made, of all tenants; those that still run beside this one make
 * more. Lists of a subscription with such rows read the types from the events.
 * @returns how many
 */
export async function fillEventTypes(database: Database): Promise<number> {
  const sql = sqlOn(database.pool);
  let total = 0;
  while (total < perCall) {
    const { count } = (await sql.one(fillTypes, [perStatement]))!;
    total += count;
    if (count < perStatement) break;
  }
  return total;
}
