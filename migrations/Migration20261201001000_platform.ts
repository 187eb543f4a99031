import { Migration } from '@mikro-orm/migrations';
import { createRoles, secureTenantTable } from './row-level-security.ts';

/** The roles, the outbox and the claims of Idempotency-Keys. */
export class Migration20261201001000_platform extends Migration {
  override name = 'Migration20261201001000_platform';

  override up(): void {
    for (const sql of [
      ...createRoles,
      'grant select on mikro_orm_migrations to atelier_system;',
      `create table idempotency (
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        method varchar(10) not null,
        path varchar(300) not null,
        key varchar(255) not null,
        fingerprint bytea not null,
        resource_id uuid not null,
        created_at timestamptz not null,
        outcome json,
        primary key (organization_id, environment, method, path, key)
      );`,
      'create index idempotency_created_at_index on idempotency (created_at);',
      ...secureTenantTable('idempotency'),
      `create table outbox (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        kind varchar(40) not null,
        subject_id uuid not null,
        correlation_id varchar(128) not null,
        attempts int not null,
        created_at timestamptz not null,
        available_at timestamptz not null,
        last_attempt_at timestamptz,
        last_error varchar(500),
        primary key (id),
        constraint outbox_kind_subject_id_unique unique (kind, subject_id)
      );`,
      'create index outbox_available_at_index on outbox (available_at);',
      'create index outbox_kind_available_at_index on outbox (kind, available_at);',
      // The drain skips from tenant to tenant.
      'create index outbox_tenant_index on outbox (kind, organization_id, environment, available_at);',
      ...secureTenantTable('outbox'),
      // Rows of the ledger and of the audit log are final, until their organization is deleted.
      `create function refuse_change()
       returns trigger language plpgsql as $$ begin
        if tg_op = 'DELETE' then
          if exists (select from organization where id = old.organization_id and purging_at is not null) then
            return old;
          end if;
        end if;
        raise exception 'rows of % are never changed or removed', tg_table_name using errcode = 'restrict_violation';
      end $$;`,
    ]) {
      this.addSql(sql);
    }
  }
}
