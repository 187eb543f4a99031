import { Migration } from '@mikro-orm/migrations';

/** Lists of runs count and turn their pages by indexes alone, whatever the filter. In place of the indexes without these columns. */
export class Migration20261201064000_run_search extends Migration {
  override name = 'Migration20261201064000_run_search';

  override up(): void {
    for (const sql of [
      'drop index run_automation_id_status_number_index;',
      `create index run_automation_id_status_number_index on run (automation_id, status, number)
        include (organization_id, environment, id, created_at);`,
      'drop index run_correlation_list_index;',
      `create index run_correlation_list_index on run (correlation_id, organization_id, environment, created_at, id)
        include (is_test);`,
      'drop index run_definition_list_index;',
      `create index run_definition_list_index on run (definition_id, created_at, id)
        include (organization_id, environment, is_test);`,
      'drop index run_parent_index;',
      `create index run_parent_index on run (parent_run_id, created_at, id) include (organization_id, environment, is_test)
        where parent_run_id is not null;`,
      'drop index run_batch_index;',
      `create index run_batch_index on run (batch_id, created_at, id) include (organization_id, environment, is_test)
        where batch_id is not null;`,
    ]) {
      this.addSql(sql);
    }
  }
}
