import { Migration } from '@mikro-orm/migrations';

/**
 * Deliveries that send an event to a webhook once more. (subscription_id, event_id) stays unique, because earlier code that
 * still runs names it in ON CONFLICT: a resent delivery has its own id as event_id, which earlier code finds no event for
 * and leaves alone.
 */
export class Migration20261122113000_resent extends Migration {
  override name = 'Migration20261122113000_resent';

  override up(): void {
    this.addSql('alter table delivery add column resent_event_id uuid null;');
    this.addSql(`create index delivery_resent_index on delivery (resent_event_id)
      where resent_event_id is not null;`);
  }
}
