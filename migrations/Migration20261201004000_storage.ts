import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';
import { countStoredBytes } from './storage-triggers.ts';

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
        constraint file_check check (recorded_at is null or (bytes is not null and sha256 is not null)),
        constraint file_check1 check (recorded_at is not null or remove_at is not null)
      );`,
      'create index file_remove_at_index on file (remove_at) where remove_at is not null;',
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
      // A tenant has several counters, so that its transactions rarely wait for each other: one for each remainder of the id of
      // a database process, so that a transaction changes one of them only.
      `create function add_storage_used(organization_id uuid, environment varchar, bytes bigint) returns void
        language sql as $$
          insert into storage_used as used (organization_id, environment, slot, bytes)
          values ($1, $2, pg_backend_pid() % 8, $3)
          on conflict (organization_id, environment, slot) do update set bytes = used.bytes + excluded.bytes
        $$;`,
      ...countStoredBytes(
        'file',
        (row) => `case when ${row}.recorded_at is null then 0 else coalesce(${row}.bytes, 0) end`,
      ),
    ]) {
      this.addSql(sql);
    }
  }
}
