import { Migration } from '@mikro-orm/migrations';

/**
 * The event type in the delivery itself, so that a list by type or by state is a range of one index. Rows of earlier
 * versions have none; a sweep fills them.
 */
export class Migration20261122170000_delivery_event_type extends Migration {
  override name = 'Migration20261122170000_delivery_event_type';

  override up(): void {
    this.addSql('alter table delivery add column event_type varchar(60) null;');
    this.addSql('create index delivery_list_index on delivery (subscription_id, event_type, status, created_at, id);');
    this.addSql('create index delivery_unfilled_index on delivery (subscription_id) where event_type is null;');
  }
}
