import { Migration } from '@mikro-orm/migrations';

/** What names the public page of a booking. */
export class Migration20261122153100_booking_token extends Migration {
  override name = 'Migration20261122153100_booking_token';

  override up(): void {
    this.addSql(`alter table booking add column token varchar(22) null,
      add constraint booking_token_unique unique (token);`);
  }
}
