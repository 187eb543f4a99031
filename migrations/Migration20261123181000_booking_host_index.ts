import { Migration } from '@mikro-orm/migrations';

/**
 * What a host has booked, with the tenant first: while a table has no statistics, the planner takes the index with the most
 * columns that a statement names, and would otherwise read the bookings of all hosts of the tenant around a time.
 */
export class Migration20261123181000_booking_host_index extends Migration {
  override name = 'Migration20261123181000_booking_host_index';

  override up(): void {
    this.addSql(`create index booking_tenant_host_index on booking (organization_id, environment, host_id, start_at)
      where status = 'confirmed';`);
    this.addSql('drop index booking_host_index;');
  }
}
