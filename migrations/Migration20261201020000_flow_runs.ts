import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Steps inside containers, and what runs wait for. */
export class Migration20261201020000_flow_runs extends Migration {
  override name = 'Migration20261201020000_flow_runs';

  override up(): void {
    for (const sql of [
      `alter table run
        add column fence int not null default 0,
        add column waiting_since timestamptz,
        add column waited_ms bigint;`,
      // Null in runs whose steps stand in one list: those have no entries in the index.
      `alter table run_step
        add column path text,
        add column counts json,
        add column key_run_id uuid;`,
      'create unique index run_step_path_index on run_step (run_id, path) where path is not null;',
      `alter table calling_run
        add column extra int not null default 0,
        add column since timestamptz not null default now();`,
      `create table run_wait (
        id uuid not null,
        run_id uuid not null references run,
        path text not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        type varchar(10) not null check (type in ('wait', 'event', 'approval', 'workflow', 'job', 'slot')),
        step_id varchar(64) not null,
        since timestamptz not null,
        until timestamptz,
        event varchar(128),
        match text,
        state varchar(8) not null check (state in ('open', 'resolved')),
        outcome json,
        resolved_at timestamptz,
        subject_id uuid,
        primary key (id),
        constraint run_wait_run_id_path_unique unique (run_id, path)
      );`,
      `create index run_wait_event_index on run_wait (organization_id, environment, event, id)
        where state = 'open' and event is not null;`,
      `create index run_wait_subject_index on run_wait (subject_id) where state = 'open' and subject_id is not null;`,
      ...secureTenantTable('run_wait'),
      `create table waiting_total (
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        runs int not null,
        primary key (organization_id, environment)
      );`,
      ...secureTenantTable('waiting_total'),
      `create function count_waiting_run() returns trigger language plpgsql as $$
        declare
          change int := case when new.waiting_since is null then -1 else 1 end;
        begin
          insert into waiting_total as t (organization_id, environment, runs)
          values (new.organization_id, new.environment, change)
          on conflict (organization_id, environment) do update set runs = t.runs + change;
          return null;
        end $$;`,
      // Runs that never wait do not call it.
      `create trigger run_waiting after update on run for each row
        when ((old.waiting_since is null) <> (new.waiting_since is null)) execute function count_waiting_run();`,
    ]) {
      this.addSql(sql);
    }
  }
}
