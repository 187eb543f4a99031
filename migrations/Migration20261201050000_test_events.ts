import { Migration } from '@mikro-orm/migrations';

/** Examples of all types are sent as tests. */
export class Migration20261201050000_test_events extends Migration {
  override name = 'Migration20261201050000_test_events';

  override up(): void {
    this.addSql('alter table "event" add column "is_test" boolean not null default false;');
  }
}
