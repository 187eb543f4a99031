import { Migration } from '@mikro-orm/migrations';
import { aboveUncounted } from './storage-triggers.ts';

const bytesOf = (row: string) =>
  `case when ${row}.output_file is null then ${aboveUncounted(`coalesce(${row}.output_bytes, 0)`)} else 0 end`;

/**
 * The outputs that a retry takes over are counted once for all of them. Counted one by one, 10,000 of them changed one row
 * as often in one transaction, which took 10 s at its commit.
 */
export class Migration20261201068000_copied_steps extends Migration {
  override name = 'Migration20261201068000_copied_steps';

  override up(): void {
    for (const sql of [
      // At the commit that creates a retry, all of its steps are copies. A copy has no attempts; what begins here has one.
      `create function run_step_copied() returns trigger language plpgsql as $$
        begin
          perform add_storage_used(new.organization_id, new.environment, copied.bytes)
            from (select sum(${bytesOf('s')})::bigint as bytes from run_step s where s.run_id = new.id and s.attempts = 0) copied
           where copied.bytes > 0;
          return null;
        end $$;`,
      `create constraint trigger run_step_copied after insert on run deferrable initially deferred
        for each row when (new.retry_of is not null) execute function run_step_copied();`,
      'drop trigger run_step_stored_insert on run_step;',
      `create constraint trigger run_step_stored_insert after insert on run_step deferrable initially deferred
        for each row when (new.attempts > 0 and ${bytesOf('new')} > 0) execute function run_step_stored();`,
    ]) {
      this.addSql(sql);
    }
  }
}
