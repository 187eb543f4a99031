import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Connected integrations, and consents that ask for scopes of their own. */
export class Migration20261123172000_integration_connections extends Migration {
  override name = 'Migration20261123172000_integration_connections';

  override up(): void {
    this.addSql('alter table oauth_state add column scopes jsonb null;');
    this.addSql(`create table integration_connection (
      id uuid primary key,
      organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test')),
      integration varchar(40) not null,
      connection_id uuid null,
      account_id varchar(320) not null,
      account_name varchar(320) not null,
      details jsonb not null,
      status varchar(12) not null check (status in ('connected', 'auth_expired')),
      sealed_sandbox_secret text null,
      connected_at timestamptz not null
    );`);
    this.addSql(`create unique index integration_connection_unique
      on integration_connection (organization_id, environment, integration);`);
    // Finds the connections that a provider's event is for, whoever connected the account.
    this.addSql(
      `create index integration_connection_account_index on integration_connection (integration, account_id);`,
    );
    this.addSql(`create unique index integration_connection_access_unique on integration_connection (connection_id);`);
    for (const sql of secureTenantTable('integration_connection')) this.addSql(sql);
  }
}
