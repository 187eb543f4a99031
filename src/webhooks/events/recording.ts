import { inBatches } from '../../platform/database/batches.ts';
import type { Database } from '../../platform/database/database.ts';
import { sqlOn, statement, systemStatement, type TenantSql } from '../../platform/database/sql.ts';

/*
 * Events are recorded for tenants that use them: tenants with a webhook, a trigger or a workflow with an `event` step,
 * and readers of the list of events. A row has the end of the recording; a sweep extends it while the use lasts, once a
 * day for each tenant, and removes it a week after the use has ended.
 */

/** Days for which events are listed, and for which they are recorded after their last use. */
export const feedDays = 7;

/** For SQL: whether events of the tenant are recorded. */
export const isRecorded = `(exists (select from event_recording
            where organization_id = :organizationId and environment = :environment)
    or exists (select from webhook_subscription
                where organization_id = :organizationId and environment = :environment and deleted_at is null))`;

/** For SQL: the number of the transaction, by which its events are listed. */
export const ownTransaction = 'pg_current_xact_id()::text::bigint';

const record = statement({
  name: 'event_recording.renew',
  text: `insert into event_recording as r (organization_id, environment, recorded_until)
   select :organizationId, :environment, atelier_statement_now() + interval '${feedDays} days'
    where not exists (select from event_recording
                       where organization_id = :organizationId and environment = :environment
                         and recorded_until > atelier_statement_now() + interval '${feedDays - 1} days')
   on conflict (organization_id, environment) do update set recorded_until = excluded.recorded_until`,
});

/** Records the events of the tenant from now on, for a week at least. */
export async function recordEvents(sql: TenantSql): Promise<void> {
  await sql.rows(record);
}

const isUsed = (tenant: string) => {
  const same = (row: string) =>
    `${row}.organization_id = ${tenant}.organization_id and ${row}.environment = ${tenant}.environment`;
  return `(exists (select from webhook_subscription s where ${same('s')} and s.deleted_at is null)
    or exists (select from event_trigger t where ${same('t')})
    or exists (select from automation a join definition d on d.id = a.definition_id
                where ${same('a')} and a.deleted_at is null and d.steps::text like '%"type":"event"%'))`;
};

// Includes expired rows: the sweep may not have run for a while.
const renewUsed = systemStatement({
  name: 'event_recording.sweep',
  parameters: { limit: 'int' },
  row: { count: 'int' },
  text: `with due as materialized (
     select organization_id, environment, recorded_until from event_recording
      where recorded_until < atelier_statement_now() + interval '${feedDays - 1} days'
      order by recorded_until limit :limit for update skip locked),
   looked as materialized (select due.*, ${isUsed('due')} as used from due),
   renewed as (
     update event_recording r set recorded_until = atelier_statement_now() + interval '${feedDays} days' from looked l
      where r.organization_id = l.organization_id and r.environment = l.environment and l.used
     returning 1),
   gone as (
     delete from event_recording r using looked l
      where r.organization_id = l.organization_id and r.environment = l.environment and not l.used
        and l.recorded_until < atelier_statement_now()
     returning 1)
   select ((select count(*) from renewed) + (select count(*) from gone))::int as count`,
});

/** Continues the recording for tenants that use events, and ends it for others. @returns how many changed */
export const sweepRecordings = (database: Database): Promise<number> =>
  inBatches(async (limit) => (await sqlOn(database.pool).one(renewUsed, { limit }))!.count);
