import { Migration } from '@mikro-orm/migrations';

/** What ended runs and generations are found by when their time is over, and how many runs of a workflow were removed. */
export class Migration20261124042000_retention extends Migration {
  override name = 'Migration20261124042000_retention';

  override up(): void {
    this.addSql('alter table automation add column removed_runs int not null default 0;');
    this.addSql(`create index run_finished_index on run (organization_id, finished_at) where finished_at is not null;`);
    this.addSql(`create index generation_finished_index on generation (organization_id, finished_at)
      where finished_at is not null;`);
    // Retries share the files of the runs that they retry.
    this.addSql('create index run_step_output_file_index on run_step (output_file) where output_file is not null;');
    this.addSql('create index run_definition_index on run (definition_id);');
  }
}
