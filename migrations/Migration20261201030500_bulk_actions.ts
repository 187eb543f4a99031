import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Bulk actions: many runs, named at creation, that are cancelled or retried one after the other. */
export class Migration20261201030500_bulk_actions extends Migration {
  override name = 'Migration20261201030500_bulk_actions';

  override up(): void {
    for (const sql of [
      `create table bulk_action (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        action varchar(6) not null check (action in ('cancel', 'retry')),
        definition varchar(7) not null check (definition in ('pinned', 'current')),
        status varchar(9) not null check (status in ('pending', 'running', 'completed', 'aborted')),
        total int not null,
        run_ids uuid[] not null,
        done int not null,
        succeeded int not null,
        failed int not null,
        skipped int not null,
        errors json not null,
        created_at timestamptz not null,
        completed_at timestamptz,
        correlation_id varchar(128) not null,
        primary key (id)
      );`,
      'create index bulk_action_list_index on bulk_action (organization_id, environment, created_at, id);',
      'create index bulk_action_open_index on bulk_action (organization_id, environment) where completed_at is null;',
      ...secureTenantTable('bulk_action'),
    ]) {
      this.addSql(sql);
    }
  }
}
