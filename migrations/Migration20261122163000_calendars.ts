import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Calendars of hosts, their busy times, what is written to them, and those of the sandbox. */
export class Migration20261122163000_calendars extends Migration {
  override name = 'Migration20261122163000_calendars';

  override up(): void {
    const tenant = `organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test'))`;
    this.addSql(`create table calendar (
      id uuid primary key,
      ${tenant},
      host_id uuid not null references scheduling_host (id),
      connection_id uuid not null,
      service varchar(10) not null check (service in ('google', 'microsoft')),
      name varchar(200) not null,
      status varchar(12) not null check (status in ('syncing', 'active', 'error', 'auth_expired', 'disconnected')),
      follow_changes boolean not null,
      last_synced_at timestamptz null,
      last_error_code varchar(40) null,
      last_error_message varchar(500) null,
      last_error_at timestamptz null,
      generation int not null,
      sync_token text null,
      window_starts_at timestamptz null,
      window_ends_at timestamptz null,
      baselined_at timestamptz null,
      sync_id uuid null,
      baseline jsonb null,
      channel_id varchar(200) null,
      channel_resource varchar(500) null,
      channel_ends_at timestamptz null,
      created_at timestamptz not null,
      updated_at timestamptz not null
    );`);
    this.addSql('create unique index calendar_connection_unique on calendar (connection_id);');
    this.addSql('create index calendar_list_index on calendar (organization_id, environment, created_at, id);');
    this.addSql('create index calendar_host_index on calendar (host_id, created_at, id);');

    this.addSql(`create table calendar_busy (
      ${tenant},
      calendar_id uuid not null references calendar (id) on delete cascade,
      generation int not null,
      event_key uuid not null,
      starts_at timestamptz not null,
      ends_at timestamptz not null,
      is_long boolean not null,
      primary key (calendar_id, generation, event_key),
      check (starts_at < ends_at)
    );`);
    this.addSql('create index calendar_busy_time_index on calendar_busy (calendar_id, generation, starts_at);');
    this.addSql(
      'create index calendar_busy_long_index on calendar_busy (calendar_id, generation, starts_at) where is_long;',
    );

    this.addSql(`create table calendar_entry (
      booking_id uuid primary key references booking (id),
      ${tenant},
      calendar_id uuid not null references calendar (id) on delete cascade,
      event_id varchar(1024) not null,
      version int not null,
      starts_at timestamptz not null,
      ends_at timestamptz not null,
      meeting_url varchar(2000) null,
      is_removed boolean not null,
      written_at timestamptz not null,
      seen_generation int null,
      outside_change jsonb null
    );`);
    this.addSql('create index calendar_entry_event_index on calendar_entry (calendar_id, event_id);');
    this.addSql(`create index calendar_entry_outside_index on calendar_entry (calendar_id)
      where outside_change is not null;`);

    this.addSql(`create table sandbox_calendar (
      calendar_id uuid primary key references calendar (id) on delete cascade,
      ${tenant},
      version int not null,
      oldest_change int not null,
      fault varchar(20) null,
      fault_is_spent boolean not null
    );`);
    this.addSql(`create table sandbox_calendar_event (
      calendar_id uuid not null references calendar (id) on delete cascade,
      event_id varchar(200) not null,
      ${tenant},
      version int not null,
      event jsonb null,
      booking_id uuid null,
      primary key (calendar_id, event_id)
    );`);

    for (const table of ['calendar', 'calendar_busy', 'calendar_entry', 'sandbox_calendar', 'sandbox_calendar_event']) {
      for (const sql of secureTenantTable(table)) this.addSql(sql);
    }
  }
}
