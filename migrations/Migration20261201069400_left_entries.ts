import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Events of bookings in calendars that lost their access before the bookings were written to another calendar. */
export class Migration20261201069400_left_entries extends Migration {
  override name = 'Migration20261201069400_left_entries';

  override up(): void {
    for (const sql of [
      `create table left_calendar_entry (
        calendar_id uuid not null references calendar on delete cascade,
        booking_id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        event_id varchar(1024) not null,
        primary key (calendar_id, booking_id)
      );`,
      ...secureTenantTable('left_calendar_entry'),
    ]) {
      this.addSql(sql);
    }
  }
}
