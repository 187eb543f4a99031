import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Events that providers told of in the last day, so that one that is sent twice is delivered once. */
export class Migration20261123174100_inbound_events extends Migration {
  override name = 'Migration20261123174100_inbound_events';

  override up(): void {
    this.addSql(`create table integration_inbound_event (
      connection_id uuid not null,
      digest uuid not null,
      organization_id uuid not null,
      environment varchar(4) not null,
      received_at timestamptz not null,
      trigger varchar(40) null,
      reference jsonb null,
      tries smallint not null default 0,
      primary key (connection_id, digest));`);
    this.addSql('create index integration_inbound_event_age_index on integration_inbound_event (received_at);');
    this.addSql(`create index integration_inbound_event_fetch_index
      on integration_inbound_event (connection_id, received_at) where reference is not null;`);
    for (const sql of secureTenantTable('integration_inbound_event')) this.addSql(sql);
  }
}
