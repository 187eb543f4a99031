import { Migration } from '@mikro-orm/migrations';

/** Retries that are due and found no place among the attempts under way: they take their turn beside first attempts. */
export class Migration20261122010000_held_retries extends Migration {
  override name = 'Migration20261122010000_held_retries';

  override up(): void {
    this.addSql('alter table delivery add column held_since timestamptz null;');
    this.addSql(`create index delivery_held_index on delivery (subscription_id, next_attempt_at)
      where held_since is not null and status in ('pending', 'retrying');`);
  }
}
