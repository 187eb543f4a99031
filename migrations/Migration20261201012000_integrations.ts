import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Connections to integrations, their actions and inbound events. */
export class Migration20261201012000_integrations extends Migration {
  override name = 'Migration20261201012000_integrations';

  override up(): void {
    for (const sql of [
      `create table integration_action (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        integration varchar(40) not null,
        action varchar(40) not null,
        account_id varchar(320) not null,
        status varchar(10) not null check (status in ('scheduled', 'processing', 'completed', 'failed', 'unknown', 'cancelled')),
        repeatable boolean not null,
        payload text,
        answer text,
        failure jsonb,
        claim jsonb,
        due_at timestamptz not null,
        delayed boolean not null,
        attempts smallint not null,
        paused_ms int not null,
        submitted_at timestamptz,
        begun_until timestamptz,
        correlation_id varchar(128) not null,
        created_at timestamptz not null,
        finished_at timestamptz,
        priority varchar(6) not null default 'normal',
        unsent boolean not null default false,
        primary key (id),
        constraint integration_action_check check (status not in ('scheduled', 'processing') or payload is not null),
        constraint integration_action_check1 check (status <> 'completed' or answer is not null),
        constraint integration_action_check2 check (status not in ('failed', 'unknown') or failure is not null)
      );`,
      'create index integration_action_created_index on integration_action (created_at);',
      `create index integration_action_open_index on integration_action (due_at) where status in ('scheduled', 'processing');`,
      `create index integration_action_tenant_open_index on integration_action (organization_id, environment, status) where status in ('scheduled', 'processing');`,
      ...secureTenantTable('integration_action'),
      `create table integration_connection (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        integration varchar(40) not null,
        connection_id uuid,
        account_id varchar(320) not null,
        account_name varchar(320) not null,
        details json not null,
        status varchar(12) not null check (status in ('connected', 'auth_expired')),
        sealed_sandbox_secret text,
        connected_at timestamptz not null,
        primary key (id)
      );`,
      'create unique index integration_connection_access_unique on integration_connection (connection_id);',
      // Finds the connections that a provider's event is for, whichever tenant connected the account.
      'create index integration_connection_account_index on integration_connection (integration, account_id);',
      `create unique index integration_connection_unique on integration_connection (organization_id, environment, integration);`,
      ...secureTenantTable('integration_connection'),
      `create table integration_inbound_event (
        connection_id uuid not null,
        digest uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null,
        received_at timestamptz not null,
        trigger varchar(40),
        reference jsonb,
        tries smallint not null default 0,
        primary key (connection_id, digest)
      );`,
      'create index integration_inbound_event_age_index on integration_inbound_event (received_at);',
      `create index integration_inbound_event_fetch_index on integration_inbound_event (connection_id, received_at) where reference is not null;`,
      ...secureTenantTable('integration_inbound_event'),
      `create table integration_poll (
        connection_id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        cursor text not null,
        polled_at timestamptz not null,
        primary key (connection_id)
      );`,
      ...secureTenantTable('integration_poll'),
      `create table integration_push (
        connection_id uuid not null,
        resource varchar(500) not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        subscription_id varchar(200) not null,
        client_state_hash varchar(64) not null,
        ends_at timestamptz not null,
        listened_since timestamptz not null default now(),
        missed_at timestamptz,
        primary key (connection_id, resource)
      );`,
      ...secureTenantTable('integration_push'),
    ]) {
      this.addSql(sql);
    }
  }
}
