import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Configurations of tool servers. */
export class Migration20261201006000_tools extends Migration {
  override name = 'Migration20261201006000_tools';

  override up(): void {
    for (const sql of [
      `create table tool_configuration (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        server varchar(20) not null,
        enabled boolean not null,
        url varchar(2048),
        values json not null,
        sealed_secrets text,
        secret_names jsonb not null,
        functions jsonb,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        primary key (id),
        constraint tool_configuration_server_unique unique (organization_id, environment, server)
      );`,
      ...secureTenantTable('tool_configuration'),
    ]) {
      this.addSql(sql);
    }
  }
}
