import { Migration } from '@mikro-orm/migrations';

/** When Temporal was last asked about a run that is open for long. */
export class Migration20261121060000_reconcile extends Migration {
  override name = 'Migration20261121060000_reconcile';

  override up(): void {
    this.addSql('alter table run add column checked_at timestamptz null;');
  }
}
