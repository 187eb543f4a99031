import { Migration } from '@mikro-orm/migrations';

/** Organizations may have request limits of their own. */
export class Migration20261121030000_rate_limits extends Migration {
  override name = 'Migration20261121030000_rate_limits';

  override up(): void {
    this.addSql('alter table organization add column rate_minute int null, add column rate_day int null;');
  }
}
