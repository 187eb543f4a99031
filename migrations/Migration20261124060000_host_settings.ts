import { Migration } from '@mikro-orm/migrations';

/** Hosts have limits and blackouts of their own, and links of their own to their bookings; the first one has no name yet. */
export class Migration20261124060000_host_settings extends Migration {
  override name = 'Migration20261124060000_host_settings';

  override up(): void {
    this.addSql('alter table scheduling_host add column renamed_at timestamptz null, add column limits jsonb null;');
    this.addSql(`update scheduling_host set renamed_at = updated_at where is_default and name <> 'Default';`);
    this.addSql('alter table blackout_period add column host_id uuid null references scheduling_host (id);');
    this.addSql('alter table booking add column host_token varchar(22) null;');
    this.addSql('create unique index booking_host_token_unique on booking (host_token) where host_token is not null;');
  }
}
