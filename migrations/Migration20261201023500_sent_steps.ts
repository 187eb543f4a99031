import { Migration } from '@mikro-orm/migrations';

/** When a step sent a request that must not be repeated: after a crash nothing is sent again. */
export class Migration20261201023500_sent_steps extends Migration {
  override name = 'Migration20261201023500_sent_steps';

  override up(): void {
    this.addSql('alter table run_step add column sent_at timestamptz;');
  }
}
