import { Migration } from '@mikro-orm/migrations';

/** What steps of test runs end with instead of being executed, and the test runs that have not ended. */
export class Migration20261201049000_test_runs extends Migration {
  override name = 'Migration20261201049000_test_runs';

  override up(): void {
    this.addSql('alter table run add column mocks json;');
    this.addSql(
      `create index run_test_open_index on run (created_at) where is_test and status in ('queued', 'running');`,
    );
  }
}
