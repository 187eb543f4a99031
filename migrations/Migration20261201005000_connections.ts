import { Migration } from '@mikro-orm/migrations';
import { ownOrganization, secureTenantTable } from './row-level-security.ts';

/** OAuth connections. */
export class Migration20261201005000_connections extends Migration {
  override name = 'Migration20261201005000_connections';

  override up(): void {
    for (const sql of [
      `create table allowed_redirect (
        organization_id uuid not null references organization,
        url varchar(2048) not null,
        created_at timestamptz not null,
        primary key (organization_id, url)
      );`,
      'alter table allowed_redirect enable row level security;',
      'alter table allowed_redirect force row level security;',
      // Test and live share the list. Operators write it; tenants' work looks addresses up.
      `create policy tenant on allowed_redirect for select to atelier_tenant using (${ownOrganization});`,
      'create policy system on allowed_redirect to atelier_system using (true) with check (true);',
      'grant select on allowed_redirect to atelier_tenant;',
      'grant select, insert, update, delete on allowed_redirect to atelier_system;',
      `create table oauth_connection (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        purpose varchar(40) not null,
        provider varchar(40) not null,
        account_id varchar(320) not null,
        account_name varchar(320) not null,
        status varchar(12) not null check (status in ('active', 'auth_expired')),
        sealed_access_token text,
        sealed_refresh_token text,
        access_expires_at timestamptz,
        refresh_at timestamptz,
        version int not null,
        lease_until timestamptz,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        primary key (id),
        constraint oauth_connection_check check (status <> 'active' or sealed_access_token is not null),
        constraint oauth_connection_check1 check ((access_expires_at is null) = (refresh_at is null))
      );`,
      `create unique index oauth_connection_account_unique on oauth_connection (organization_id, environment, purpose, provider, account_id);`,
      'create index oauth_connection_same_account_index on oauth_connection (purpose, provider, account_id);',
      ...secureTenantTable('oauth_connection'),
      `create table oauth_state (
        state_hash varchar(64) not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        purpose varchar(40) not null,
        provider varchar(40) not null,
        subject jsonb not null,
        redirect_url text,
        login_hint text,
        sealed_verifier text not null,
        correlation_id varchar(128) not null,
        created_at timestamptz not null,
        expires_at timestamptz not null,
        scopes jsonb,
        primary key (state_hash)
      );`,
      'create index oauth_state_expiry_index on oauth_state (expires_at);',
      'create index oauth_state_tenant_index on oauth_state (organization_id, environment, expires_at);',
      ...secureTenantTable('oauth_state'),
    ]) {
      this.addSql(sql);
    }
  }
}
