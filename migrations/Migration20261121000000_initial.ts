import { Migration } from '@mikro-orm/migrations';
import { createRoles, secureSystemTable, secureTenantTable } from './row-level-security.ts';

/** Organizations and their keys, workflows with their definitions, runs with their steps, the outbox. */
export class Migration20261121000000_initial extends Migration {
  override name = 'Migration20261121000000_initial';

  override up(): void {
    this.addSql(`create table api_key (
      id uuid not null,
      organization_id uuid not null,
      environment varchar(4) not null,
      name varchar(200) not null,
      hash bytea not null,
      prefix varchar(8) not null,
      last_four varchar(4) not null,
      scopes text[] not null,
      variant varchar(1) not null,
      created_at timestamptz not null,
      last_used_at timestamptz null,
      expires_at timestamptz null,
      revoked_at timestamptz null,
      primary key (id)
    );`);
    this.addSql('alter table api_key add constraint api_key_hash_unique unique (hash);');
    this.addSql(
      'create index api_key_organization_id_environment_id_index on api_key (organization_id, environment, id);',
    );
    this.addSql(`create table automation (
      id uuid not null,
      organization_id uuid not null,
      environment varchar(4) not null,
      name varchar(100) not null,
      description text null,
      state varchar(10) not null,
      definition_id uuid not null,
      total_runs int not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      deleted_at timestamptz null,
      primary key (id)
    );`);
    this.addSql(
      'create index automation_organization_id_environment_created_at_id_index on automation (organization_id, environment, created_at, id);',
    );
    this.addSql(`create table definition (
      id uuid not null,
      organization_id uuid not null,
      environment varchar(4) not null,
      automation_id uuid not null,
      ai_provider varchar(20) not null,
      ai_model varchar(200) not null,
      steps jsonb not null,
      config jsonb not null,
      inputs jsonb not null,
      created_at timestamptz not null,
      primary key (id)
    );`);
    this.addSql('create index definition_automation_id_index on definition (automation_id);');
    this.addSql(`create table idempotency (
      organization_id uuid not null,
      environment varchar(4) not null,
      method varchar(10) not null,
      path varchar(300) not null,
      key varchar(255) not null,
      fingerprint bytea not null,
      resource_id uuid not null,
      created_at timestamptz not null,
      primary key (organization_id, environment, method, path, key)
    );`);
    this.addSql('create index idempotency_created_at_index on idempotency (created_at);');
    this.addSql(`create table organization (
      id uuid not null,
      name varchar(200) not null,
      plan varchar(20) not null,
      email varchar(320) null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      primary key (id)
    );`);
    this.addSql(`create table outbox (
      id uuid not null,
      organization_id uuid not null,
      environment varchar(4) not null,
      kind varchar(40) not null,
      subject_id uuid not null,
      correlation_id varchar(128) not null,
      attempts int not null,
      created_at timestamptz not null,
      available_at timestamptz not null,
      primary key (id)
    );`);
    this.addSql('create index outbox_available_at_index on outbox (available_at);');
    this.addSql('alter table outbox add constraint outbox_kind_subject_id_unique unique (kind, subject_id);');
    this.addSql(`create table run (
      id uuid not null,
      organization_id uuid not null,
      environment varchar(4) not null,
      automation_id uuid not null,
      definition_id uuid not null,
      number int not null,
      status varchar(10) not null,
      input jsonb null,
      variables jsonb not null,
      output jsonb null,
      error jsonb null,
      tokens_used int null,
      duration_ms int null,
      current_step varchar(64) null,
      finished_steps int not null,
      total_steps int not null,
      correlation_id varchar(128) not null,
      created_at timestamptz not null,
      started_at timestamptz null,
      finished_at timestamptz null,
      primary key (id)
    );`);
    this.addSql('create index run_automation_id_status_number_index on run (automation_id, status, number);');
    this.addSql('alter table run add constraint run_automation_id_number_unique unique (automation_id, number);');
    this.addSql(`create table run_step (
      run_id uuid not null,
      position int not null,
      organization_id uuid not null,
      environment varchar(4) not null,
      step_id varchar(64) not null,
      name varchar(200) null,
      status varchar(10) not null,
      attempts int not null,
      output jsonb null,
      error jsonb null,
      warnings jsonb not null,
      provider varchar(20) null,
      model varchar(200) null,
      tokens_used int null,
      started_at timestamptz not null,
      finished_at timestamptz null,
      duration_ms int null,
      primary key (run_id, position)
    );`);
    this.addSql('alter table api_key add foreign key (organization_id) references organization (id);');
    this.addSql('alter table automation add foreign key (organization_id) references organization (id);');
    this.addSql('alter table definition add foreign key (automation_id) references automation (id);');
    this.addSql('alter table run add foreign key (automation_id) references automation (id);');
    this.addSql('alter table run add foreign key (definition_id) references definition (id);');
    this.addSql('alter table run_step add foreign key (run_id) references run (id);');
    this.addSql("alter table api_key add check (environment in ('live', 'test'));");
    this.addSql("alter table automation add check (environment in ('live', 'test'));");
    this.addSql("alter table definition add check (environment in ('live', 'test'));");
    this.addSql("alter table run add check (environment in ('live', 'test'));");
    this.addSql("alter table run_step add check (environment in ('live', 'test'));");
    this.addSql("alter table outbox add check (environment in ('live', 'test'));");
    this.addSql("alter table idempotency add check (environment in ('live', 'test'));");
    this.addSql("alter table automation add check (state in ('active', 'draft', 'archived'));");
    this.addSql("alter table run add check (status in ('queued', 'running', 'completed', 'failed', 'cancelled'));");
    const tenantTables = ['automation', 'definition', 'run', 'run_step', 'outbox', 'idempotency'];
    const secured = [
      ...createRoles,
      ...tenantTables.flatMap(secureTenantTable),
      ...['organization', 'api_key'].flatMap(secureSystemTable),
      // What a tenant's own work needs to know of its organization.
      'grant select (id, name, plan) on organization to atelier_tenant;',
      `create policy tenant on organization for select to atelier_tenant
         using (id = nullif(current_setting('atelier.organization_id', true), '')::uuid);`,
    ];
    for (const sql of secured) this.addSql(sql);
  }
}
