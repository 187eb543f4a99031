import { Migration } from '@mikro-orm/migrations';

/** A run that is ended from outside leaves nothing open, also what began while the statement that ends it waited for the run's lock. */
export class Migration20261201041000_ended_runs extends Migration {
  override name = 'Migration20261201041000_ended_runs';

  override up(): void {
    for (const sql of [
      // A statement sees what was committed when it began. What this function executes sees what was committed since, too.
      `create function close_ended_run() returns trigger language plpgsql as $$
        begin
          update run_wait set state = 'resolved', resolved_at = clock_timestamp()
           where run_id = new.id and state = 'open';
          update run_step set status = 'cancelled', finished_at = clock_timestamp()
           where run_id = new.id and status in ('running', 'waiting');
          return null;
        end $$;`,
      `create trigger run_is_closed after update on run for each row
        when (old.finished_at is null and new.finished_at is not null and new.status in ('failed', 'cancelled'))
        execute function close_ended_run();`,
    ]) {
      this.addSql(sql);
    }
  }
}
