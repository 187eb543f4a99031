import type { Database } from '../platform/database.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import { openDelivery } from './core/delivery-status.ts';

/** How long the log of a finished delivery is kept. */
const keptDays = 90;
/** Events are kept longer: `recover` creates deliveries of events up to 30 days old. */
const eventDays = keptDays + 35;

// Ids begin with their time, so the oldest rows come first in the primary key. The bound is a subquery: a volatile function
// is evaluated for every row, and then the index cannot be used.
const forgetDeliveries = statement<{ count: number }>(
  'retention.deliveries',
  `with old as (
     select id from delivery
      where id < (select uuidv7(make_interval(days => -$1::int))) and status not in (${openDelivery}) order by id limit $2),
   attempts as (delete from delivery_attempt where delivery_id in (select id from old)),
   gone as (delete from delivery where id in (select id from old) returning id)
   select count(*)::int as count from gone`,
);

const forgetEvents = statement<{ count: number }>(
  'retention.events',
  `with gone as (
     delete from event where id in (
       select id from event where id < (select uuidv7(make_interval(days => -$1::int))) order by id limit $2)
     returning id)
   select count(*)::int as count from gone`,
);

/** Removes deliveries and events after their retention, of all tenants, at most `limit` of each. @returns how many */
export async function forgetOldDeliveries(database: Database, limit: number): Promise<number> {
  const sql = sqlOn(database.pool);
  const deliveries = (await sql.one(forgetDeliveries, [keptDays, limit]))!.count;
  return Math.max(deliveries, (await sql.one(forgetEvents, [eventDays, limit]))!.count);
}
