import { Migration } from '@mikro-orm/migrations';

/** Dead letters whose workflows are being started, `infinity`, are looked for like those without. */
export class Migration20261122180100_parking_intent extends Migration {
  override name = 'Migration20261122180100_parking_intent';

  override up(): void {
    this.addSql('drop index delivery_unparked_index;');
    this.addSql(`create index delivery_unparked_index on delivery (subscription_id, created_at, id)
      where status = 'dead_lettered' and (parked_at is null or parked_at = 'infinity');`);
  }
}
