import { Migration } from '@mikro-orm/migrations';

/** A retry keeps the idempotency keys of steps whose outcome is unknown. */
export class Migration20261201044000_retried_steps extends Migration {
  override name = 'Migration20261201044000_retried_steps';

  override up(): void {
    this.addSql('alter table "run" add column "step_keys" json;');
  }
}
