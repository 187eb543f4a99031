import type { Database } from '../platform/database.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import { openDelivery } from './core/delivery-status.ts';

/** How long the log of a delivery is kept that is over, its payload included. */
const keptDays = 90;
/** A delivery may be made of an event for as long as one can recover: 30 days and some. */
const eventDays = keptDays + 35;

// Ids begin with their time, so the oldest rows stand at the beginning of the index that every table has. The bound is a
// query of its own: a function that gives something new each time is asked for every row, and the index cannot be used.
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

/** Removes what is older than anyone may ask for, across all tenants, at most `limit` of each. @returns how many rows */
export async function forgetOldDeliveries(database: Database, limit: number): Promise<number> {
  const sql = sqlOn(database.pool);
  const deliveries = (await sql.one(forgetDeliveries, [keptDays, limit]))!.count;
  return Math.max(deliveries, (await sql.one(forgetEvents, [eventDays, limit]))!.count);
}
