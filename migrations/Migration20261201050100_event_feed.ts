import { Migration } from '@mikro-orm/migrations';
import { secureSystemTable, secureTenantTable } from './row-level-security.ts';

/** Events are read in the order in which they were committed, for a week, by tenants that use events in any way. */
export class Migration20261201050100_event_feed extends Migration {
  override name = 'Migration20261201050100_event_feed';

  override up(): void {
    for (const sql of [
      'alter table event add column transaction_number bigint;',
      `create index event_feed_index on event (organization_id, environment, transaction_number, id)
        where transaction_number is not null;`,
      `create index event_feed_type_index on event (organization_id, environment, type, transaction_number, id)
        where transaction_number is not null;`,
      `create table event_recording (
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        recorded_until timestamptz not null,
        primary key (organization_id, environment)
      );`,
      ...secureTenantTable('event_recording'),
      `create table transaction_clock (
        at timestamptz not null,
        transaction_number bigint not null,
        primary key (at)
      );`,
      ...secureSystemTable('transaction_clock'),
      `insert into event_recording (organization_id, environment, recorded_until)
       select organization_id, environment, now() + interval '7 days' from (
         select organization_id, environment from webhook_subscription where deleted_at is null
         union select organization_id, environment from event_trigger
         union select a.organization_id, a.environment from automation a join definition d on d.id = a.definition_id
                where a.deleted_at is null and d.steps::text like '%"type":"event"%') used;`,
    ]) {
      this.addSql(sql);
    }
  }
}
