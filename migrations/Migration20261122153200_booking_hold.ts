import { Migration } from '@mikro-orm/migrations';

/**
 * The constraint on holds by another form of the host's id. While a table has no statistics, the planner would otherwise
 * take its index for what is booked around a time, and read all bookings of the host.
 */
export class Migration20261122153200_booking_hold extends Migration {
  override name = 'Migration20261122153200_booking_hold';

  override up(): void {
    this.addSql(`alter table booking
      drop constraint booking_hold_excl,
      add constraint booking_holds_excl
        exclude using gist ((uuid_send(host_id)) with =, tstzrange(hold_start_at, hold_end_at) with &&)
        where (status in ('confirmed', 'pending'));`);
  }
}
