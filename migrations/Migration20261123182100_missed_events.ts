import { Migration } from '@mikro-orm/migrations';

/** Since when a resource is listened to, and whether its provider could not push everything that happened since. */
export class Migration20261123182100_missed_events extends Migration {
  override name = 'Migration20261123182100_missed_events';

  override up(): void {
    this.addSql(`alter table integration_push
      add column listened_since timestamptz not null default now(),
      add column missed_at timestamptz null;`);
  }
}
