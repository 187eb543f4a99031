import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Consents that were asked for, access to accounts, and the addresses that people may be sent back to. */
export class Migration20261122162000_connections extends Migration {
  override name = 'Migration20261122162000_connections';

  override up(): void {
    const tenant = `organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test'))`;
    this.addSql(`create table oauth_state (
      state_hash varchar(64) primary key,
      ${tenant},
      purpose varchar(40) not null,
      provider varchar(40) not null,
      subject jsonb not null,
      redirect_url text null,
      login_hint text null,
      sealed_verifier text not null,
      correlation_id varchar(128) not null,
      created_at timestamptz not null,
      expires_at timestamptz not null
    );`);
    this.addSql('create index oauth_state_tenant_index on oauth_state (organization_id, environment, expires_at);');
    this.addSql('create index oauth_state_expiry_index on oauth_state (expires_at);');

    this.addSql(`create table oauth_connection (
      id uuid primary key,
      ${tenant},
      purpose varchar(40) not null,
      provider varchar(40) not null,
      account_id varchar(320) not null,
      account_name varchar(320) not null,
      status varchar(12) not null check (status in ('active', 'auth_expired')),
      sealed_access_token text null,
      sealed_refresh_token text null,
      access_expires_at timestamptz null,
      refresh_at timestamptz null,
      version int not null,
      lease_until timestamptz null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      check (status <> 'active' or sealed_access_token is not null),
      check ((access_expires_at is null) = (refresh_at is null))
    );`);
    this.addSql(`create unique index oauth_connection_account_unique
      on oauth_connection (organization_id, environment, purpose, provider, account_id);`);
    for (const table of ['oauth_state', 'oauth_connection']) {
      for (const sql of secureTenantTable(table)) this.addSql(sql);
    }

    // Test and live share the list. Operators write it; tenants' work looks addresses up.
    this.addSql(`create table allowed_redirect (
      organization_id uuid not null references organization (id),
      url varchar(2048) not null,
      created_at timestamptz not null,
      primary key (organization_id, url)
    );`);
    const own = "organization_id = nullif(current_setting('atelier.organization_id', true), '')::uuid";
    this.addSql('alter table allowed_redirect enable row level security;');
    this.addSql('alter table allowed_redirect force row level security;');
    this.addSql(`create policy tenant on allowed_redirect for select to atelier_tenant using (${own});`);
    this.addSql('create policy system on allowed_redirect to atelier_system using (true) with check (true);');
    this.addSql('grant select on allowed_redirect to atelier_tenant;');
    this.addSql('grant select, insert, update, delete on allowed_redirect to atelier_system;');
  }
}
