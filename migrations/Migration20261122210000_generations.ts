import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Generations of Studio, numbered within their tenant, and counts of what the history shows of each 1000 of them. */
export class Migration20261122210000_generations extends Migration {
  override name = 'Migration20261122210000_generations';

  override up(): void {
    this.addSql(`create table generation (
      id uuid primary key,
      organization_id uuid not null,
      environment varchar(4) not null,
      number int not null,
      kind varchar(20) not null,
      status varchar(10) not null,
      request jsonb not null,
      seed bigint not null,
      file varchar(48) null,
      width int null,
      height int null,
      seconds double precision null,
      credits int null,
      error jsonb null,
      correlation_id varchar(128) not null,
      created_at timestamptz not null,
      finished_at timestamptz null,
      constraint generation_organization_id_environment_number_unique unique (organization_id, environment, number)
    );`);
    this.addSql(`create index generation_history_index on generation (organization_id, environment, number)
      where status = 'completed' and kind in ('image', 'video', 'music');`);
    this.addSql(`create index generation_kind_index on generation (organization_id, environment, kind, number)
      where status = 'completed';`);
    this.addSql(`create index generation_block_end_index on generation (organization_id, environment, number)
      where number % 1000 = 0;`);
    this.addSql(`create index generation_open_index on generation (created_at) where status = 'processing';`);
    this.addSql(`alter table generation add check (status in ('processing', 'completed', 'failed', 'cancelled'));`);
    this.addSql(`alter table generation add check (
      (status <> 'completed') or (file is not null and credits is not null and finished_at is not null));`);

    this.addSql(`create table generation_total (
      organization_id uuid not null,
      environment varchar(4) not null,
      total int not null,
      primary key (organization_id, environment)
    );`);
    this.addSql(`create table generation_block (
      organization_id uuid not null,
      environment varchar(4) not null,
      block int not null,
      images int not null,
      videos int not null,
      music int not null,
      primary key (organization_id, environment, block)
    );`);
    for (const table of ['generation', 'generation_total', 'generation_block']) {
      this.addSql(`alter table ${table} add check (environment in ('live', 'test'));`);
      for (const sql of secureTenantTable(table)) this.addSql(sql);
    }
  }
}
