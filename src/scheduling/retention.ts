import { changeByTenant } from '../platform/concurrency/tenant-batches.ts';
import { inBatches } from '../platform/database/batches.ts';
import type { Database } from '../platform/database/database.ts';
import { sqlOn, statement, systemStatement } from '../platform/database/sql.ts';
import { typed } from '../platform/database/sql-types.ts';
import type { Environment } from '../platform/tenant.ts';
import { tenancyLimits } from '../tenancy/core/limits.ts';
import { openEffect } from './core/effect-status.ts';

const hasNoOpenEffect = (booking: string) =>
  `not exists (select from booking_effect where booking_id = ${booking}.id and status in (${openEffect}))`;

// Each organization costs one index lookup, however much it stores.
const findOld = systemStatement({
  name: 'booking.find_old',
  parameters: { retentionDaysByPlan: 'jsonb', limit: 'int' },
  row: { organizationId: 'uuid', environment: typed<Environment>('text'), id: 'uuid' },
  text: `select o.id as "organizationId", b.environment, b.id
     from organization o
     join jsonb_each_text(:retentionDaysByPlan) as kept (plan, days) on kept.plan = o.plan
    cross join (values ('live'), ('test')) as e (environment)
    cross join lateral (
      select id, environment from booking b
       where organization_id = o.id and b.environment = e.environment
         and start_at < atelier_statement_now() - make_interval(days => kept.days::int)
         and end_at < atelier_statement_now() - make_interval(days => kept.days::int) and ${hasNoOpenEffect('b')}
       order by start_at, id limit :limit) b
    limit :limit`,
});

const removeBookings = statement({
  name: 'booking.remove_old',
  parameters: { ids: 'uuid[]' },
  row: { count: 'int' },
  text: `with batch as (
     select b.id from booking b
      where b.organization_id = :organizationId and b.environment = :environment and b.id = any(:ids)
        and ${hasNoOpenEffect('b')} for update),
   effects as (delete from booking_effect where booking_id in (select id from batch)),
   entries as (delete from calendar_entry where booking_id in (select id from batch) returning calendar_id, event_id),
   sandbox_events as (
     delete from sandbox_calendar_event s using entries e where s.calendar_id = e.calendar_id
       and s.event_id = e.event_id),
   gone as (delete from booking where id in (select id from batch) returning 1)
   select count(*)::int as count from gone`,
});

/**
 * Removes the bookings whose time was over longer ago than the plan of their organization keeps them, with what followed from
 * them, of all tenants. Events in calendars of providers stay. @returns how many
 */
export const removeOldBookings = (database: Database): Promise<number> =>
  inBatches(async (limit) => {
    const old = await sqlOn(database.pool).rows(findOld, {
      retentionDaysByPlan: tenancyLimits.retentionDays.byPlan(),
      limit,
    });
    return changeByTenant(database, old, async (tx, bookings) => {
      const ids = bookings.map(({ id }) => id);
      return (await tx.one(removeBookings, { ids }))!.count;
    });
  });

const unused = {
  scheduling_event_type: (row: string) => `not exists (select from booking where event_type_id = ${row}.id)`,
  scheduling_host: (row: string) =>
    `not exists (select from booking where host_id = ${row}.id)
     and not exists (select from scheduling_event_type where host_id = ${row}.id)
     and not exists (select from calendar where host_id = ${row}.id)
     and not exists (select from blackout_period where host_id = ${row}.id)`,
};

/** An hour after it was deleted, no request that read it before works with it. */
const sweepOf = (table: keyof typeof unused) => {
  const find = systemStatement({
    name: `${table}.find_deleted`,
    parameters: { limit: 'int' },
    row: { id: 'uuid', organizationId: 'uuid', environment: typed<Environment>('text') },
    text: `select d.id, d.organization_id as "organizationId", d.environment from ${table} d
      where d.deleted_at < atelier_statement_now() - interval '1 hour' and ${unused[table]('d')} order by d.deleted_at limit :limit`,
  });
  const remove = statement({
    name: `${table}.remove_deleted`,
    parameters: { ids: 'uuid[]' },
    row: { count: 'int' },
    text: `with gone as (
       delete from ${table} d
        where d.organization_id = :organizationId and d.environment = :environment and d.id = any(:ids) and ${unused[table]('d')} returning 1)
     select count(*)::int as count from gone`,
  });
  return async (database: Database, limit: number) => {
    const deleted = await sqlOn(database.pool).rows(find, { limit });
    return changeByTenant(database, deleted, async (tx, rows) => {
      const ids = rows.map(({ id }) => id);
      return (await tx.one(remove, { ids }))!.count;
    });
  };
};

const removeEventTypes = sweepOf('scheduling_event_type');
const removeHosts = sweepOf('scheduling_host');

/** Removes deleted event types and hosts of all tenants once no booking names them. @returns how many */
export async function removeDeletedSettings(database: Database): Promise<number> {
  const eventTypes = await inBatches((limit) => removeEventTypes(database, limit));
  return eventTypes + (await inBatches((limit) => removeHosts(database, limit)));
}
