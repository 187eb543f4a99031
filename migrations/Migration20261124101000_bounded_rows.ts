import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** What the sweeps need that remove rows after the retention of their plan, and the count of mails of a day. */
export class Migration20261124101000_bounded_rows extends Migration {
  override name = 'Migration20261124101000_bounded_rows';

  override up(): void {
    // Deliveries that ended before it are gone: `recover` must not send their events again.
    this.addSql('alter table webhook_subscription add column recoverable_from timestamptz null;');
    for (const table of ['webhook_subscription', 'scheduling_host', 'scheduling_event_type']) {
      this.addSql(`create index ${table}_deleted_index on ${table} (deleted_at) where deleted_at is not null;`);
    }
    // Foreign keys to a host that is removed are checked by them.
    this.addSql('create index booking_any_host_index on booking (host_id);');
    this.addSql(`create index scheduling_event_type_any_host_index on scheduling_event_type (host_id)
      where host_id is not null;`);
    this.addSql('create index blackout_period_host_index on blackout_period (host_id) where host_id is not null;');
    this.addSql(`create table mail_day (
      organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test')),
      day date not null,
      mails int not null,
      primary key (organization_id, environment, day)
    );`);
    for (const sql of secureTenantTable('mail_day')) this.addSql(sql);
    this.addSql('create index mail_day_index on mail_day (day);');
    this.addSql('create index usage_month_index on usage_month (month);');
  }
}
