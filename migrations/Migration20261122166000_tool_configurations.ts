import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** How organizations configure tool servers. */
export class Migration20261122166000_tool_configurations extends Migration {
  override name = 'Migration20261122166000_tool_configurations';

  override up(): void {
    this.addSql(`create table tool_configuration (
      id uuid primary key,
      organization_id uuid not null,
      environment varchar(4) not null,
      server varchar(20) not null,
      enabled boolean not null,
      url varchar(2048) null,
      values jsonb not null,
      sealed_secrets text null,
      secret_names jsonb not null,
      functions jsonb null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      constraint tool_configuration_server_unique unique (organization_id, environment, server)
    );`);
    this.addSql(`alter table tool_configuration add check (environment in ('live', 'test'));`);
    for (const sql of secureTenantTable('tool_configuration')) this.addSql(sql);
  }
}
