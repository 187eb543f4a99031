import { Migration } from '@mikro-orm/migrations';

/** When a change in a calendar was last tried to be settled: those that were tried wait behind the others. */
export class Migration20261201067900_settle_tries extends Migration {
  override name = 'Migration20261201067900_settle_tries';

  override up(): void {
    this.addSql('alter table calendar_entry add column settle_tried_at timestamptz;');
  }
}
