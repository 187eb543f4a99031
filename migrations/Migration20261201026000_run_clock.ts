import { Migration } from '@mikro-orm/migrations';

/** The executing time of runs whose workflow limits it. */
export class Migration20261201026000_run_clock extends Migration {
  override name = 'Migration20261201026000_run_clock';

  override up(): void {
    for (const sql of [
      // A run executes while it is running and does not wait. Whatever changes that starts or stops its clock.
      `create function run_clock() returns trigger language plpgsql as $$
        declare
          executes boolean := new.status = 'running' and new.waiting_since is null;
        begin
          if old.times_out_at is not null and (new.times_out_at is null or not executes) then
            new.executing_ms := new.max_duration_seconds::bigint * 1000
              - round(extract(epoch from old.times_out_at - clock_timestamp()) * 1000);
            new.times_out_at := null;
          elsif executes and new.times_out_at is null then
            new.times_out_at := clock_timestamp() + make_interval(
              secs => new.max_duration_seconds - coalesce(new.executing_ms, 0) / 1000.0);
          end if;
          return new;
        end $$;`,
      `create trigger run_clock before update of status, waiting_since, times_out_at on run
        for each row when (new.max_duration_seconds is not null) execute function run_clock();`,
    ]) {
      this.addSql(sql);
    }
  }
}
