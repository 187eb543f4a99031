import { Migration } from '@mikro-orm/migrations';

/** A search finds bookings of a tenant by their attendee and by what caused them. */
export class Migration20261201063100_search extends Migration {
  override name = 'Migration20261201063100_search';

  override up(): void {
    for (const sql of [
      'create index booking_search_correlation_index on booking (organization_id, environment, correlation_id, id);',
      'create index booking_search_attendee_index on booking (organization_id, environment, attendee_email, id);',
    ]) {
      this.addSql(sql);
    }
  }
}
