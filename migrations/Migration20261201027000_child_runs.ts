import { Migration } from '@mikro-orm/migrations';

/** Runs that steps start: their ends reach the steps that wait for them, and they end with those. */
export class Migration20261201027000_child_runs extends Migration {
  override name = 'Migration20261201027000_child_runs';

  override up(): void {
    const enqueue = (kind: string, of: string, from: string) =>
      `insert into outbox (id, organization_id, environment, kind, subject_id, correlation_id, attempts, created_at, available_at)
       select uuidv7(), new.organization_id, new.environment, '${kind}', ${of}, r.correlation_id, 0, clock_timestamp(), clock_timestamp()
         from ${from}
       on conflict (kind, subject_id) do update
         set id = excluded.id, correlation_id = excluded.correlation_id, attempts = 0, last_error = null,
             created_at = excluded.created_at, available_at = excluded.available_at`;
    for (const sql of [
      // Whatever statement ends a run: the wait that the run's end resolves belongs to another run.
      `create function resolve_parent_wait() returns trigger language plpgsql as $$
        begin
          with resolved as (
            update run_wait set state = 'resolved', outcome = '{"output": null}', resolved_at = clock_timestamp()
             where subject_id = new.id and type = 'workflow' and state = 'open' returning run_id)
          ${enqueue('run.proceed', 'r.id', 'run r where r.id in (select run_id from resolved)')};
          return null;
        end $$;`,
      `create trigger run_resolves_parent after update on run for each row
        when (old.finished_at is null and new.finished_at is not null and new.parent_run_id is not null)
        execute function resolve_parent_wait();`,
      `create function stop_child_run() returns trigger language plpgsql as $$
        begin
          ${enqueue('run.stop', 'r.id', `run r where r.id = new.subject_id and r.status in ('queued', 'running')`)};
          return null;
        end $$;`,
      `create trigger run_wait_stops_child after update on run_wait for each row
        when (old.state = 'open' and new.state = 'resolved' and new.outcome is null and new.type = 'workflow')
        execute function stop_child_run();`,
    ]) {
      this.addSql(sql);
    }
  }
}
