import { Migration } from '@mikro-orm/migrations';

/** Origins whose pages may show the booking page of an event type in a frame; null for none. */
export class Migration20261201062000_embed_origins extends Migration {
  override name = 'Migration20261201062000_embed_origins';

  override up(): void {
    this.addSql('alter table scheduling_event_type add column embed_origins text[];');
  }
}
