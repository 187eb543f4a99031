import { Migration } from '@mikro-orm/migrations';

/** Runs of earlier versions, whose sizes are not stored. A sweep stores them, and then the index is empty. */
export class Migration20261122170200_unsized_runs extends Migration {
  override name = 'Migration20261122170200_unsized_runs';

  override up(): void {
    this.addSql('create index run_unsized_index on run (id) where input_bytes is null;');
  }
}
