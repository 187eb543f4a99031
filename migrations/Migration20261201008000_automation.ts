import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';
import { aboveUncounted, countStoredBytes } from './storage-triggers.ts';

/** Workflows with their definitions and schedules, and runs with their steps. */
export class Migration20261201008000_automation extends Migration {
  override name = 'Migration20261201008000_automation';

  override up(): void {
    for (const sql of [
      `create table automation (
        id uuid not null,
        organization_id uuid not null references organization,
        environment varchar(4) not null check (environment in ('live', 'test')),
        name varchar(100) not null,
        description text,
        state varchar(10) not null check (state in ('active', 'draft', 'archived')),
        definition_id uuid not null,
        total_runs int not null,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        deleted_at timestamptz,
        trigger_secret_hash bytea,
        removed_runs int not null default 0,
        primary key (id)
      );`,
      `create index automation_organization_id_environment_created_at_id_index on automation (organization_id, environment, created_at, id);`,
      `create index automation_state_index on automation (organization_id, environment, state, created_at, id) where deleted_at is null;`,
      ...secureTenantTable('automation'),
      `create table automation_schedule (
        automation_id uuid not null references automation,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        cron varchar(200) not null,
        timezone varchar(64) not null,
        paused boolean not null,
        input json,
        variables json not null,
        revision uuid not null,
        last_run_at timestamptz,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        last_skipped_at timestamptz,
        last_skipped_reason varchar(60),
        primary key (automation_id)
      );`,
      `create index automation_schedule_organization_id_environment_index on automation_schedule (organization_id, environment);`,
      ...secureTenantTable('automation_schedule'),
      `create table calling_run (
        run_id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        leased_until timestamptz,
        primary key (run_id)
      );`,
      'create index calling_run_leased_until_index on calling_run (leased_until);',
      `create index calling_run_waiting_index on calling_run (organization_id, environment, run_id) where leased_until is null;`,
      ...secureTenantTable('calling_run'),
      `create table calling_total (
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        held int not null,
        waiting int not null,
        is_admitting boolean not null,
        primary key (organization_id, environment)
      );`,
      ...secureTenantTable('calling_total'),
      `create table definition (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        automation_id uuid not null references automation,
        ai_provider varchar(20) not null,
        ai_model varchar(200) not null,
        steps json not null,
        config json not null,
        inputs json not null,
        created_at timestamptz not null,
        primary key (id)
      );`,
      'create index definition_automation_id_index on definition (automation_id);',
      ...secureTenantTable('definition'),
      `create table run (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        automation_id uuid not null references automation,
        definition_id uuid not null references definition,
        number int not null,
        status varchar(10) not null check (status in ('queued', 'running', 'completed', 'failed', 'cancelled')),
        input json,
        variables json not null,
        output json,
        error json,
        tokens_used int,
        duration_ms int,
        current_step varchar(64),
        finished_steps int not null,
        total_steps int not null,
        correlation_id varchar(128) not null,
        created_at timestamptz not null,
        started_at timestamptz,
        finished_at timestamptz,
        checked_at timestamptz,
        first_position int not null default 0,
        retry_of uuid,
        result_step varchar(64),
        outputs_apart jsonb,
        input_bytes int,
        variables_bytes int,
        output_bytes int,
        primary key (id),
        constraint run_automation_id_number_unique unique (automation_id, number)
      );`,
      'create index run_automation_id_status_number_index on run (automation_id, status, number);',
      // One entry for each 1,000 runs: where the blocks end.
      'create index run_block_end_index on run (automation_id, number) where (number % 1000) = 0;',
      'create index run_correlation_index on run (correlation_id);',
      'create index run_definition_index on run (definition_id);',
      'create index run_finished_index on run (organization_id, finished_at) where finished_at is not null;',
      // How many runs are open, and since when, without a look at those that are over.
      `create index run_open_index on run (status, created_at) where status in ('queued', 'running');`,
      ...secureTenantTable('run'),
      `create table run_block (
        automation_id uuid not null references automation,
        block int not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        completed int not null,
        failed int not null,
        cancelled int not null,
        primary key (automation_id, block)
      );`,
      ...secureTenantTable('run_block'),
      `create table run_step (
        run_id uuid not null references run,
        position int not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        step_id varchar(64) not null,
        name varchar(200),
        status varchar(10) not null,
        attempts int not null,
        output json,
        error json,
        warnings jsonb not null,
        provider varchar(20),
        model varchar(200),
        tokens_used int,
        started_at timestamptz not null,
        finished_at timestamptz,
        duration_ms int,
        output_bytes int,
        models json,
        output_file varchar(48),
        rounds smallint not null default 0,
        warnings_total int,
        primary key (run_id, "position")
      );`,
      // Retries share the files of the runs that they retry.
      'create index run_step_output_file_index on run_step (output_file) where output_file is not null;',
      ...secureTenantTable('run_step'),
      `create table run_step_call (
        run_id uuid not null,
        position int not null,
        round smallint not null,
        call smallint not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        name varchar(64) not null,
        args text,
        attempts smallint not null,
        result text,
        is_error boolean,
        primary key (run_id, "position", round, call)
      );`,
      ...secureTenantTable('run_step_call'),
      `create table run_step_round (
        run_id uuid not null,
        position int not null,
        round smallint not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        content text not null,
        primary key (run_id, "position", round)
      );`,
      ...secureTenantTable('run_step_round'),
      ...countStoredBytes('run', (row) =>
        aboveUncounted(`coalesce(${row}.input_bytes, 0) + coalesce(${row}.variables_bytes, 0)`),
      ),
      ...countStoredBytes(
        'run_step',
        (row) =>
          `case when ${row}.output_file is null then ${aboveUncounted(`coalesce(${row}.output_bytes, 0)`)} else 0 end`,
      ),
      ...countStoredBytes('run_step_call', (row) =>
        aboveUncounted(`coalesce(octet_length(${row}.args), 0) + coalesce(octet_length(${row}.result), 0)`),
      ),
    ]) {
      this.addSql(sql);
    }
  }
}
