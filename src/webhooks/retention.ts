import type { Database } from '../platform/database.ts';
import { sqlOn, statement } from '../platform/sql.ts';
import { openDelivery } from './core/delivery-status.ts';

/** How long the log of a finished delivery is kept, and how far `recover` reaches back. */
export const keptDays = 90;
/** A day later, so that `recover` never finds an event whose delivery was just removed, and sends it again. */
const deliveryDays = keptDays + 1;
/** `recover` makes deliveries of events that are as old as that, and those are kept as long again. */
const eventDays = 2 * deliveryDays + 3;

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
       select id from event e where id < (select uuidv7(make_interval(days => -$1::int)))
          and not exists (select from delivery where resent_event_id = e.id) order by id limit $2)
     returning id)
   select count(*)::int as count from gone`,
);

/** A host without attempts for a while may get all at once: its row says nothing any more. */
const forgetHosts = statement<{ count: number }>(
  'retention.hosts',
  `with gone as (
     delete from webhook_host where host in (
       select host from webhook_host where free_at < (select clock_timestamp() - interval '1 day')
        order by host limit $1 for update skip locked)
     returning host)
   select count(*)::int as count from gone`,
);

const forgetRecoveries = statement<{ count: number }>(
  'retention.recoveries',
  `with gone as (
     delete from recovery where id in (
       select id from recovery where id < (select uuidv7(make_interval(days => -$1::int))) order by id limit $2)
     returning id)
   select count(*)::int as count from gone`,
);

/**
 * Removes deliveries and events after their retention, of all tenants, and unused hosts; at most `limit` of each.
 * @returns how many of the kind that had most
 */
export async function forgetOldDeliveries(database: Database, limit: number): Promise<number> {
  const sql = sqlOn(database.pool);
  const deliveries = (await sql.one(forgetDeliveries, [deliveryDays, limit]))!.count;
  const events = (await sql.one(forgetEvents, [eventDays, limit]))!.count;
  const recoveries = (await sql.one(forgetRecoveries, [deliveryDays, limit]))!.count;
  return Math.max(deliveries, events, recoveries, (await sql.one(forgetHosts, [limit]))!.count);
}
