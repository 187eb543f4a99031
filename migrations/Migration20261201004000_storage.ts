import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Files, and how much each organization stores. */
export class Migration20261201004000_storage extends Migration {
  override name = 'Migration20261201004000_storage';

  override up(): void {
    for (const sql of [
      `create table file (
        name varchar(48) not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        kind varchar(20) not null,
        content_type varchar(40) not null,
        title varchar(60) not null,
        bytes bigint,
        sha256 bytea,
        created_at timestamptz not null,
        recorded_at timestamptz,
        remove_at timestamptz,
        primary key (name),
        constraint file_check check ((recorded_at is null) or ((bytes is not null) and (sha256 is not null))),
        constraint file_check1 check ((recorded_at is not null) or (remove_at is not null))
      );`,
      'create index file_remove_at_index on file (remove_at) where (remove_at is not null);',
      'create index file_tenant_index on file (organization_id);',
      ...secureTenantTable('file'),
      `create table storage_used (
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        slot smallint not null,
        bytes bigint not null,
        primary key (organization_id, environment, slot)
      );`,
      ...secureTenantTable('storage_used'),
      // Eight counters for each tenant: transactions that end together seldom wait for one another.
      `create function add_storage_used(organization_id uuid, environment character varying, bytes bigint)
       returns void language sql as $$
      insert into storage_used as used (organization_id, environment, slot, bytes)
      values ($1, $2, pg_backend_pid() % 8, $3)
      on conflict (organization_id, environment, slot) do update set bytes = used.bytes + excluded.bytes
      $$;`,
      `create function file_stored()
       returns trigger language plpgsql as $$
      begin
        perform add_storage_used(new.organization_id, new.environment,
          case when new.recorded_at is null then 0 else coalesce(new.bytes, 0) end - case tg_op when 'UPDATE' then case when old.recorded_at is null then 0 else coalesce(old.bytes, 0) end else 0 end);
        return null;
      end $$;`,
      `create function file_unstored()
       returns trigger language plpgsql as $$
      begin
        perform add_storage_used(gone.organization_id, gone.environment, -gone.bytes)
          from (select was.organization_id, was.environment, sum(case when was.recorded_at is null then 0 else coalesce(was.bytes, 0) end)::bigint as bytes
                  from old_rows was group by 1, 2 order by 1, 2) gone
         where gone.bytes <> 0;
        return null;
      end $$;`,
      `create constraint trigger file_stored_insert after insert on file deferrable initially deferred for each row when ((
              case
                  when (new.recorded_at is null) then (0)::bigint
                  else COALESCE(new.bytes, (0)::bigint)
              end > 0)) execute function file_stored();`,
      `create constraint trigger file_stored_update after update on file deferrable initially deferred for each row when ((
              case
                  when (new.recorded_at is null) then (0)::bigint
                  else COALESCE(new.bytes, (0)::bigint)
              end <>
              case
                  when (old.recorded_at is null) then (0)::bigint
                  else COALESCE(old.bytes, (0)::bigint)
              end)) execute function file_stored();`,
      `create trigger file_unstored after delete on file referencing old table as old_rows for each statement execute function file_unstored();`,
    ]) {
      this.addSql(sql);
    }
  }
}
