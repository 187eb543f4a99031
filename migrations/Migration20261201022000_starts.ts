import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** How runs are started, what they wait for before they begin, and what they are found by. */
export class Migration20261201022000_starts extends Migration {
  override name = 'Migration20261201022000_starts';

  override up(): void {
    for (const sql of [
      'alter table automation add column is_paused boolean not null default false;',
      'alter table definition add column concurrency json, add column max_duration_seconds int;',
      `alter table automation_schedule
        add column tags jsonb,
        add column metadata json,
        add column expires_in_ms bigint,
        add column priority smallint,
        add column version int;`,
      `alter table run
        add column tags jsonb,
        add column metadata json,
        add column trigger_type varchar(10) not null default 'api'
          check (trigger_type in ('api', 'schedule', 'webhook', 'event', 'workflow', 'batch')),
        add column triggered_by json,
        add column parent_run_id uuid,
        add column parent_path text,
        add column root_run_id uuid,
        add column depth smallint not null default 1,
        add column batch_id uuid,
        add column scheduled_for timestamptz,
        add column expires_at timestamptz,
        add column priority smallint not null default 3 check (priority between 1 and 5),
        add column queued_for varchar(11) check (queued_for in ('delay', 'concurrency', 'paused')),
        add column concurrency_group uuid,
        add column slot varchar(9) check (slot in ('held', 'lent', 'returning')),
        add column is_test boolean not null default false,
        add column error_code varchar(40),
        add column max_duration_seconds int,
        add column executing_ms bigint,
        add column times_out_at timestamptz;`,
      'set local role atelier_system;',
      `update run set error_code = error ->> 'code' where error is not null;`,
      'reset role;',
      // A page of a list is merged from one range for each trigger and state: every filter of them costs the same.
      `create index run_list_index on run (organization_id, environment, trigger_type, status, created_at, id)
        where not is_test;`,
      `create index run_test_index on run (organization_id, environment, created_at, id) where is_test;`,
      `create index run_error_index on run (organization_id, environment, error_code, created_at, id)
        where error_code is not null;`,
      `create index run_parent_index on run (parent_run_id, created_at, id) where parent_run_id is not null;`,
      `create index run_batch_index on run (batch_id, created_at, id) where batch_id is not null;`,
      // In place of those that give no order: an insert has as many indexes to write as before, and one.
      `create index run_correlation_list_index on run (correlation_id, organization_id, environment, created_at, id);`,
      'drop index run_correlation_index;',
      'create index run_definition_list_index on run (definition_id, created_at, id);',
      'drop index run_definition_index;',
      // What waits before it begins. Runs that begin at once have no entries.
      `create index run_queue_index on run (automation_id, queued_for, concurrency_group, priority, number)
        where status = 'queued' and queued_for is not null;`,
      `create index run_delay_index on run (scheduled_for) where status = 'queued' and queued_for = 'delay';`,
      `create index run_expiry_index on run (expires_at) where status = 'queued' and expires_at is not null;`,
      `create index run_slot_index on run (concurrency_group, slot, number)
        where status in ('queued', 'running') and slot is not null;`,
      `create index run_time_limit_index on run (times_out_at) where times_out_at is not null;`,
      `create table run_tag (
        run_id uuid not null references run on delete cascade,
        tag varchar(64) not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        created_at timestamptz not null,
        primary key (run_id, tag)
      );`,
      `create index run_tag_list_index on run_tag (organization_id, environment, tag, created_at, run_id);`,
      ...secureTenantTable('run_tag'),
      `create table queued_total (
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        runs int not null,
        primary key (organization_id, environment)
      );`,
      ...secureTenantTable('queued_total'),
      `create function count_queued_run() returns trigger language plpgsql as $$
        declare
          subject run := case tg_op when 'DELETE' then old else new end;
          change int := case when tg_op = 'INSERT' then 1 when tg_op = 'DELETE' then -1
                             when new.queued_for is null then -1 else 1 end;
        begin
          insert into queued_total as t (organization_id, environment, runs)
          values (subject.organization_id, subject.environment, change)
          on conflict (organization_id, environment) do update set runs = t.runs + change;
          return null;
        end $$;`,
      // At the commit, when the transaction takes no other lock any more. Runs that are not queued do not call it.
      `create constraint trigger run_queued_insert after insert on run deferrable initially deferred
        for each row when (new.queued_for is not null) execute function count_queued_run();`,
      `create constraint trigger run_queued_update after update on run deferrable initially deferred
        for each row when ((old.queued_for is null) <> (new.queued_for is null)) execute function count_queued_run();`,
      `create constraint trigger run_queued_delete after delete on run deferrable initially deferred
        for each row when (old.queued_for is not null) execute function count_queued_run();`,
      // Whatever ends a run that waits to begin, the run waits no longer.
      `create function leave_queue() returns trigger language plpgsql as $$
        begin
          new.queued_for := null;
          return new;
        end $$;`,
      `create trigger run_leaves_queue before update of status on run
        for each row when (new.queued_for is not null and new.status <> 'queued') execute function leave_queue();`,
      // Whatever ends a run that others wait for, its slot is given on.
      `create function give_slot_on() returns trigger language plpgsql as $$
        begin
          insert into outbox (id, organization_id, environment, kind, subject_id, correlation_id, attempts, created_at, available_at)
          values (uuidv7(), old.organization_id, old.environment, 'concurrency.admit', old.concurrency_group,
                  old.correlation_id, 0, clock_timestamp(), clock_timestamp())
          on conflict (kind, subject_id) do update
             set id = excluded.id, correlation_id = excluded.correlation_id, attempts = 0, last_error = null,
                 created_at = excluded.created_at, available_at = excluded.available_at;
          return null;
        end $$;`,
      `create constraint trigger run_gives_slot_on after update on run deferrable initially deferred for each row
        when (old.slot is not null and old.status in ('queued', 'running') and new.status not in ('queued', 'running'))
        execute function give_slot_on();`,
    ]) {
      this.addSql(sql);
    }
  }
}
