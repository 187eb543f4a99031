import { Migration } from '@mikro-orm/migrations';

/** Lists of deliveries by a status that few have. */
export class Migration20261122114000_unusual_deliveries extends Migration {
  override name = 'Migration20261122114000_unusual_deliveries';

  override up(): void {
    this.addSql(`create index delivery_unusual_index on delivery (subscription_id, status, created_at, id)
      where status in ('retrying', 'dead_lettered', 'failed');`);
  }
}
