import { Migration } from '@mikro-orm/migrations';

/** Jobs that steps of workflows wait for: their ends reach those steps, and they end with them. */
export class Migration20261201030100_step_jobs extends Migration {
  override name = 'Migration20261201030100_step_jobs';

  override up(): void {
    const enqueue = (kind: string, subject: string, from: string) =>
      `insert into outbox (id, organization_id, environment, kind, subject_id, correlation_id, attempts, created_at, available_at)
       select uuidv7(), new.organization_id, new.environment, '${kind}', ${subject}, r.correlation_id, 0, clock_timestamp(), clock_timestamp()
         from ${from}
       on conflict (kind, subject_id) do update
         set id = excluded.id, correlation_id = excluded.correlation_id, attempts = 0, last_error = null,
             created_at = excluded.created_at, available_at = excluded.available_at`;
    for (const sql of [
      // Whatever statement ends a job.
      `create function resolve_job_wait() returns trigger language plpgsql as $$
        begin
          with resolved as (
            update run_wait set state = 'resolved', outcome = '{"output": null}', resolved_at = clock_timestamp()
             where subject_id = new.id and type = 'job' and state = 'open' returning run_id)
          ${enqueue('run.proceed', 'r.id', 'run r where r.id in (select run_id from resolved)')};
          return null;
        end $$;`,
      ...['generation', 'voice_call'].map(
        (table) =>
          `create trigger ${table}_resolves_step after update on ${table} for each row
            when (old.finished_at is null and new.finished_at is not null) execute function resolve_job_wait();`,
      ),
      `create function cancel_step_job() returns trigger language plpgsql as $$
        begin
          ${enqueue('step.cancel_job', 'new.subject_id', 'run r where r.id = new.run_id')};
          return null;
        end $$;`,
      `create trigger run_wait_cancels_job after update of state on run_wait for each row
        when (old.state = 'open' and new.state = 'resolved' and new.outcome is null and new.type = 'job')
        execute function cancel_step_job();`,
    ]) {
      this.addSql(sql);
    }
  }
}
