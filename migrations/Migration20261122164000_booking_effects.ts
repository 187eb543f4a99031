import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** What follows from a change of a booking: mails, calendar entries and reminders, each done once. */
export class Migration20261122164000_booking_effects extends Migration {
  override name = 'Migration20261122164000_booking_effects';

  override up(): void {
    this.addSql('alter table scheduling_event_type add column reminders jsonb null;');
    this.addSql(`create table booking_effect (
      booking_id uuid not null references booking (id),
      version int not null,
      kind varchar(20) not null,
      organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test')),
      status varchar(10) not null check (status in ('pending', 'retrying', 'succeeded', 'failed', 'skipped')),
      attempts int not null,
      last_error varchar(300) null,
      facts jsonb null,
      due_at timestamptz not null,
      handed_over_at timestamptz null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      primary key (booking_id, version, kind)
    );`);
    this.addSql(`create index booking_effect_due_index on booking_effect (due_at)
      where status in ('pending', 'retrying');`);
    for (const sql of secureTenantTable('booking_effect')) this.addSql(sql);
  }
}
