import { Migration } from '@mikro-orm/migrations';

/** The secret before the previous one: after two rotations in a day it signs until its own day is over. */
export class Migration20261122110000_older_secret extends Migration {
  override name = 'Migration20261122110000_older_secret';

  override up(): void {
    this.addSql(`alter table webhook_subscription
      add column sealed_older_secret text null, add column older_secret_expires_at timestamptz null;`);
  }
}
