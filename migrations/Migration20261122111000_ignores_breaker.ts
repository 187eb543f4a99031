import { Migration } from '@mikro-orm/migrations';

/** Deliveries whose next attempt somebody waits for: tests, and replays by operators. */
export class Migration20261122111000_ignores_breaker extends Migration {
  override name = 'Migration20261122111000_ignores_breaker';

  override up(): void {
    this.addSql('alter table delivery add column ignores_breaker boolean not null default false;');
    this.addSql(`create index delivery_exempt_index on delivery (subscription_id)
      where ignores_breaker and status in ('pending', 'retrying');`);
  }
}
