import { Migration } from '@mikro-orm/migrations';

/** Transactions that were open when a recovery began: they may record events after it has read their time. */
export class Migration20261201069200_late_events extends Migration {
  override name = 'Migration20261201069200_late_events';

  override up(): void {
    this.addSql('alter table recovery add column late_from bigint;');
    this.addSql('alter table recovery add column late_until bigint;');
    this.addSql('alter table recovery add column reads_late boolean not null default false;');
  }
}
