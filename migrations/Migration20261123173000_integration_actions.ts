import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Actions of integrations, each with what became of it, for a day. */
export class Migration20261123173000_integration_actions extends Migration {
  override name = 'Migration20261123173000_integration_actions';

  override up(): void {
    this.addSql(`create table integration_action (
      id uuid primary key,
      organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test')),
      integration varchar(40) not null,
      action varchar(40) not null,
      account_id varchar(320) not null,
      status varchar(10) not null
        check (status in ('scheduled', 'processing', 'completed', 'failed', 'unknown', 'cancelled')),
      repeatable boolean not null,
      payload text null,
      answer text null,
      failure jsonb null,
      claim jsonb null,
      due_at timestamptz not null,
      delayed boolean not null,
      attempts smallint not null,
      paused_ms int not null,
      submitted_at timestamptz null,
      begun_until timestamptz null,
      correlation_id varchar(128) not null,
      created_at timestamptz not null,
      finished_at timestamptz null,
      check (status not in ('scheduled', 'processing') or payload is not null),
      check (status <> 'completed' or answer is not null),
      check (status not in ('failed', 'unknown') or failure is not null)
    );`);
    this.addSql(`create index integration_action_open_index on integration_action (due_at)
      where status in ('scheduled', 'processing');`);
    this.addSql(`create index integration_action_tenant_open_index
      on integration_action (organization_id, environment, status) where status in ('scheduled', 'processing');`);
    this.addSql(`create index integration_action_created_index on integration_action (created_at);`);
    for (const sql of secureTenantTable('integration_action')) this.addSql(sql);
  }
}
