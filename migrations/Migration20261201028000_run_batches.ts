import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Batches of runs, and errors as lists show them: without test runs. */
export class Migration20261201028000_run_batches extends Migration {
  override name = 'Migration20261201028000_run_batches';

  override up(): void {
    for (const sql of [
      `create index run_error_list_index on run (organization_id, environment, error_code, created_at, id)
        where error_code is not null and not is_test;`,
      'drop index run_error_index;',
      `create table run_batch (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        automation_id uuid not null references automation,
        name varchar(100),
        status varchar(10) not null check (status in ('processing', 'completed', 'cancelled')),
        total int not null,
        reused int not null,
        skipped int not null,
        created_at timestamptz not null,
        completed_at timestamptz,
        correlation_id varchar(128) not null,
        primary key (id)
      );`,
      'create index run_batch_list_index on run_batch (organization_id, environment, created_at, id);',
      'create index run_batch_automation_index on run_batch (automation_id);',
      'create index run_batch_open_index on run_batch (organization_id, environment) where completed_at is null;',
      ...secureTenantTable('run_batch'),
    ]) {
      this.addSql(sql);
    }
  }
}
