import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Generations. */
export class Migration20261201009000_studio extends Migration {
  override name = 'Migration20261201009000_studio';

  override up(): void {
    for (const sql of [
      `create table generation (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        number int not null,
        kind varchar(20) not null,
        status varchar(10) not null check (status in ('processing', 'completed', 'failed', 'cancelled')),
        request jsonb not null,
        seed bigint not null,
        file varchar(48),
        width int,
        height int,
        seconds float8,
        credits int,
        error jsonb,
        correlation_id varchar(128) not null,
        created_at timestamptz not null,
        finished_at timestamptz,
        expected_ms int,
        progress smallint,
        submitted_at timestamptz,
        upstream_id varchar(200),
        image_url text,
        image jsonb,
        has_transparency boolean,
        asked_at timestamptz,
        claim jsonb,
        primary key (id),
        constraint generation_organization_id_environment_number_unique unique (organization_id, environment, number),
        constraint generation_check check (status <> 'completed' or (file is not null and credits is not null and finished_at is not null))
      );`,
      `create index generation_block_end_index on generation (organization_id, environment, number) where (number % 1000) = 0;`,
      'create index generation_correlation_index on generation (correlation_id);',
      `create index generation_finished_index on generation (organization_id, finished_at) where finished_at is not null;`,
      `create index generation_history_index on generation (organization_id, environment, number) where status = 'completed' and kind in ('image', 'video', 'music');`,
      `create index generation_kind_index on generation (organization_id, environment, kind, number) where status = 'completed';`,
      `create index generation_open_index on generation (created_at) where status = 'processing';`,
      ...secureTenantTable('generation'),
      `create table generation_block (
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        block int not null,
        images int not null,
        videos int not null,
        music int not null,
        primary key (organization_id, environment, block)
      );`,
      ...secureTenantTable('generation_block'),
      `create table generation_total (
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        total int not null,
        primary key (organization_id, environment)
      );`,
      ...secureTenantTable('generation_total'),
    ]) {
      this.addSql(sql);
    }
  }
}
