import { Migration } from '@mikro-orm/migrations';
import { ownOrganization, secureSystemTable, secureTenantTable } from './row-level-security.ts';

/** Organizations with their keys and usage, and the audit log. */
export class Migration20261201002000_tenancy extends Migration {
  override name = 'Migration20261201002000_tenancy';

  override up(): void {
    for (const sql of [
      `create table mail_day (
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        day date not null,
        mails int not null,
        primary key (organization_id, environment, day)
      );`,
      'create index mail_day_index on mail_day (day);',
      ...secureTenantTable('mail_day'),
      `create table organization (
        id uuid not null,
        name varchar(200) not null,
        plan varchar(20) not null,
        email varchar(320),
        created_at timestamptz not null,
        updated_at timestamptz not null,
        rate_minute int,
        rate_day int,
        calling_runs int,
        deleted_at timestamptz,
        purging_at timestamptz,
        primary key (id)
      );`,
      'create index organization_deleted_index on organization (deleted_at) where deleted_at is not null;',
      'alter table organization enable row level security;',
      'alter table organization force row level security;',
      `create policy tenant on organization for select to atelier_tenant using (id = nullif(current_setting('atelier.organization_id', true), '')::uuid);`,
      'create policy system on organization to atelier_system using (true) with check (true);',
      // What a tenant's own work needs to know of its organization.
      'grant select (id, name, plan, calling_runs, deleted_at) on organization to atelier_tenant;',
      'grant select, insert, update, delete on organization to atelier_system;',
      `create table api_key (
        id uuid not null,
        organization_id uuid not null references organization,
        environment varchar(4) not null check (environment in ('live', 'test')),
        name varchar(200) not null,
        hash bytea not null,
        prefix varchar(8) not null,
        last_four varchar(4) not null,
        scopes text[] not null,
        variant varchar(1) not null,
        created_at timestamptz not null,
        last_used_at timestamptz,
        expires_at timestamptz,
        revoked_at timestamptz,
        primary key (id),
        constraint api_key_hash_unique unique (hash)
      );`,
      'create index api_key_organization_id_environment_id_index on api_key (organization_id, environment, id);',
      ...secureSystemTable('api_key'),
      `create table audit_log (
        organization_id uuid not null references organization,
        number int not null,
        environment varchar(4),
        action varchar(40) not null,
        subject_id uuid not null,
        actor varchar(64) not null,
        correlation_id varchar(128),
        facts jsonb not null,
        recorded_at timestamptz not null,
        previous_hash bytea not null,
        hash bytea not null,
        hash_version smallint not null default 1,
        primary key (organization_id, number)
      );`,
      'alter table audit_log enable row level security;',
      'alter table audit_log force row level security;',
      // A tenant's own work writes into its organization's log and reads the entry that it follows. Nobody may change one.
      `create policy tenant on audit_log to atelier_tenant using (${ownOrganization}) with check (${ownOrganization});`,
      'create policy system on audit_log to atelier_system using (true) with check (true);',
      'grant select, insert on audit_log to atelier_tenant;',
      'grant select, insert, delete on audit_log to atelier_system;',
      `create table usage_month (
        organization_id uuid not null references organization,
        environment varchar(4) not null check (environment in ('live', 'test')),
        month date not null,
        requests bigint not null default 0,
        runs bigint not null default 0,
        tokens bigint not null default 0,
        primary key (organization_id, environment, month)
      );`,
      'create index usage_month_index on usage_month (month);',
      ...secureTenantTable('usage_month'),
      // In one round trip. One writer at a time for each organization, until the end of its transaction. A volatile function takes a
      // snapshot for each of its statements, so the second sees what the writer before committed while the first waited. It runs
      // with the rights of its caller.
      `create function append_audit(organization uuid, first_hash bytea, environment character varying, action character varying, subject uuid, actor character varying, correlation character varying, facts jsonb, recorded_at timestamp with time zone, digest bytea, version smallint)
       returns void language plpgsql as $$
      declare
        last_number int;
        last_hash bytea;
      begin
        perform pg_advisory_xact_lock(hashtextextended('audit ' || organization::text, 0));
        select a.number, a.hash into last_number, last_hash from audit_log a
         where a.organization_id = organization order by a.number desc limit 1;
        if not found then
          last_number := 0;
          last_hash := first_hash;
        end if;
        insert into audit_log (organization_id, number, environment, action, subject_id, actor, correlation_id, facts,
                               recorded_at, previous_hash, hash, hash_version)
        values (organization, last_number + 1, environment, action, subject, actor, correlation, facts,
                recorded_at, last_hash, sha256(last_hash || int4send(last_number + 1) || digest), version);
      end $$;`,
      'create trigger never_emptied before truncate on audit_log for each statement execute function refuse_change();',
      'create trigger only_grows before delete or update on audit_log for each row execute function refuse_change();',
    ]) {
      this.addSql(sql);
    }
  }
}
