import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** What each tenant used, by hour, day, kind of work, workflow, model, key and error. */
export class Migration20261201064100_usage_counts extends Migration {
  override name = 'Migration20261201064100_usage_counts';

  override up(): void {
    for (const sql of [
      `create table usage_count (
         organization_id uuid not null,
         environment varchar(4) not null,
         dimension varchar(8) not null,
         starts_at timestamptz not null,
         value varchar(200) not null,
         requests bigint not null,
         runs bigint not null,
         failed_runs bigint not null,
         tokens bigint not null,
         credits bigint not null,
         deliveries bigint not null,
         failed_deliveries bigint not null,
         primary key (organization_id, environment, dimension, starts_at, value)
       );`,
      'create index usage_count_index on usage_count (starts_at);',
      ...secureTenantTable('usage_count'),
      // A search finds generations by what caused them.
      `create index generation_search_correlation_index on generation (organization_id, environment, correlation_id, id);`,
    ]) {
      this.addSql(sql);
    }
  }
}
