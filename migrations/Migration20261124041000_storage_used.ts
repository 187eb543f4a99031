import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Values of up to so many bytes are not counted: most runs then change no counter. */
const uncounted = 1024;

const above = (bytes: string) => `case when ${bytes} > ${uncounted} then ${bytes} else 0 end`;

/** The bytes that a row counts for, by table. */
const countedBytes: Record<string, (row: string) => string> = {
  file: (row) => `case when ${row}.recorded_at is null then 0 else coalesce(${row}.bytes, 0) end`,
  run: (row) => above(`coalesce(${row}.input_bytes, 0) + coalesce(${row}.variables_bytes, 0)`),
  run_step: (row) =>
    `case when ${row}.output_file is null then ${above(`coalesce(${row}.output_bytes, 0)`)} else 0 end`,
  run_step_call: (row) => above(`coalesce(octet_length(${row}.args), 0) + coalesce(octet_length(${row}.result), 0)`),
};

/**
 * How many bytes each tenant keeps. Triggers maintain the figures in the transactions of the rows that they count.
 * A tenant has several counters, so that its transactions rarely wait for each other: one for each remainder of the id of a
 * database process, so that a transaction changes one of them only. What is added is counted at the commit, when the
 * transaction takes no other lock any more.
 */
export class Migration20261124041000_storage_used extends Migration {
  override name = 'Migration20261124041000_storage_used';

  override up(): void {
    this.addSql(`create table storage_used (
      organization_id uuid not null,
      environment varchar(4) not null,
      slot smallint not null,
      bytes bigint not null,
      primary key (organization_id, environment, slot)
    );`);
    this.addSql("alter table storage_used add check (environment in ('live', 'test'));");
    for (const sql of secureTenantTable('storage_used')) this.addSql(sql);
    this.addSql(`create function add_storage_used(organization_id uuid, environment varchar, bytes bigint) returns void
      language sql as $$
        insert into storage_used as used (organization_id, environment, slot, bytes)
        values ($1, $2, pg_backend_pid() % 8, $3)
        on conflict (organization_id, environment, slot) do update set bytes = used.bytes + excluded.bytes
      $$;`);
    for (const [table, bytesOf] of Object.entries(countedBytes)) {
      this.addSql(`create function ${table}_stored() returns trigger language plpgsql as $$
        begin
          perform add_storage_used(new.organization_id, new.environment,
            ${bytesOf('new')} - case tg_op when 'UPDATE' then ${bytesOf('old')} else 0 end);
          return null;
        end $$;`);
      this.addSql(`create function ${table}_unstored() returns trigger language plpgsql as $$
        begin
          perform add_storage_used(gone.organization_id, gone.environment, -gone.bytes)
            from (select was.organization_id, was.environment, sum(${bytesOf('was')})::bigint as bytes
                    from old_rows was group by 1, 2 order by 1, 2) gone
           where gone.bytes <> 0;
          return null;
        end $$;`);
      this.addSql(`create constraint trigger ${table}_stored_insert after insert on ${table} deferrable initially deferred
        for each row when (${bytesOf('new')} > 0) execute function ${table}_stored();`);
      this.addSql(`create constraint trigger ${table}_stored_update after update on ${table} deferrable initially deferred
        for each row when (${bytesOf('new')} <> ${bytesOf('old')}) execute function ${table}_stored();`);
      this.addSql(`create trigger ${table}_unstored after delete on ${table} referencing old table as old_rows
        for each statement execute function ${table}_unstored();`);
      this.addSql(`insert into storage_used as used (organization_id, environment, slot, bytes)
        select organization_id, environment, 0, sum(${bytesOf('t')}) from ${table} t group by 1, 2
        on conflict (organization_id, environment, slot) do update set bytes = used.bytes + excluded.bytes;`);
    }
  }
}
