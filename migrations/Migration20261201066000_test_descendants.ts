import { Migration } from '@mikro-orm/migrations';

/** The runs that a tested run started, itself or through others, so that they can be counted. */
export class Migration20261201066000_test_descendants extends Migration {
  override name = 'Migration20261201066000_test_descendants';

  override up(): void {
    this.addSql('create index run_test_root_index on run (root_run_id) where is_test and root_run_id is not null;');
  }
}
