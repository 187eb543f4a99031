import { randomUUIDv7 } from 'node:crypto';
import { Migration } from '@mikro-orm/migrations';

/** Rows that are counted together, when there are as many: runs with fewer steps change no counter. */
const together = 16;
const bytesPerRow = 1_024;

/** The rows of a run's steps count as storage, whatever their outputs. */
export class Migration20261201067200_step_rows extends Migration {
  override name = 'Migration20261201067200_step_rows';

  override up(): void {
    // Runs that began before are counted neither now nor when they are removed, so that the table need not be read.
    const since = randomUUIDv7();
    const isLast = (row: string) => `${row}.position % ${together} = ${together - 1} and ${row}.run_id > '${since}'`;
    const bytes = together * bytesPerRow;
    for (const sql of [
      `create function run_step_rows_stored() returns trigger language plpgsql as $$
        begin
          perform add_storage_used(new.organization_id, new.environment, ${bytes});
          return null;
        end $$;`,
      `create function run_step_rows_unstored() returns trigger language plpgsql as $$
        begin
          perform add_storage_used(gone.organization_id, gone.environment, -gone.bytes)
            from (select was.organization_id, was.environment, count(*) * ${bytes} as bytes
                    from old_rows was where ${isLast('was')} group by 1, 2 order by 1, 2) gone;
          return null;
        end $$;`,
      `create constraint trigger run_step_rows_stored after insert on run_step deferrable initially deferred
        for each row when (${isLast('new')}) execute function run_step_rows_stored();`,
      `create trigger run_step_rows_unstored after delete on run_step referencing old table as old_rows
        for each statement execute function run_step_rows_unstored();`,
    ]) {
      this.addSql(sql);
    }
  }
}
