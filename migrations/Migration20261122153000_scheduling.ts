import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Hosts, event types, hours, patterns, blackouts and bookings. */
export class Migration20261122153000_scheduling extends Migration {
  override name = 'Migration20261122153000_scheduling';

  override up(): void {
    const tenant = `organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test'))`;
    this.addSql('create extension if not exists btree_gist;');
    this.addSql(`create table scheduling_host (
      id uuid primary key,
      ${tenant},
      name varchar(200) not null,
      email varchar(254) null,
      is_default boolean not null,
      timezone varchar(64) not null,
      weekly_hours jsonb not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      deleted_at timestamptz null
    );`);
    this.addSql(`create unique index scheduling_host_default_unique
      on scheduling_host (organization_id, environment) where is_default;`);
    this.addSql(`create index scheduling_host_list_index
      on scheduling_host (organization_id, environment, created_at, id);`);

    this.addSql(`create table scheduling_settings (
      ${tenant},
      business_hours jsonb null,
      limits jsonb null,
      updated_at timestamptz not null,
      primary key (organization_id, environment)
    );`);

    this.addSql(`create table scheduling_event_type (
      id uuid primary key,
      ${tenant},
      host_id uuid null references scheduling_host (id),
      name varchar(100) not null,
      slug varchar(100) not null,
      description text null,
      duration int not null check (duration between 1 and 1440),
      buffer_before int not null check (buffer_before between 0 and 1440),
      buffer_after int not null check (buffer_after between 0 and 1440),
      min_notice int not null,
      max_advance int null,
      locations jsonb not null,
      questions jsonb not null,
      is_active boolean not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      deleted_at timestamptz null
    );`);
    this.addSql(`create unique index scheduling_event_type_slug_unique
      on scheduling_event_type (organization_id, environment, slug) where deleted_at is null;`);
    this.addSql(`create index scheduling_event_type_list_index
      on scheduling_event_type (organization_id, environment, created_at, id) where deleted_at is null;`);
    this.addSql(`create index scheduling_event_type_host_index
      on scheduling_event_type (host_id) where deleted_at is null;`);

    this.addSql(`create table recurring_pattern (
      id uuid primary key,
      ${tenant},
      name varchar(100) not null,
      pattern varchar(20) not null,
      every int not null,
      days_of_week jsonb null,
      time_start varchar(5) not null,
      time_end varchar(5) not null,
      start_date varchar(10) not null,
      end_date varchar(10) null,
      block_type varchar(40) not null,
      created_at timestamptz not null
    );`);
    this.addSql(`create index recurring_pattern_list_index
      on recurring_pattern (organization_id, environment, created_at, id);`);

    this.addSql(`create table blackout_period (
      id uuid primary key,
      ${tenant},
      name varchar(100) not null,
      starts varchar(40) not null,
      ends varchar(40) not null,
      all_day boolean not null,
      recurring boolean not null,
      reason text null,
      created_at timestamptz not null
    );`);
    this.addSql(`create index blackout_period_list_index
      on blackout_period (organization_id, environment, created_at, id);`);

    this.addSql(`create table booking (
      id uuid primary key,
      ${tenant},
      event_type_id uuid not null references scheduling_event_type (id),
      host_id uuid not null references scheduling_host (id),
      status varchar(10) not null
        check (status in ('confirmed', 'cancelled', 'pending', 'rejected', 'completed', 'no_show')),
      start_at timestamptz not null,
      end_at timestamptz not null,
      hold_start_at timestamptz not null,
      hold_end_at timestamptz not null,
      attendee_name varchar(200) not null,
      attendee_email varchar(254) not null,
      attendee_phone varchar(40) null,
      attendee_timezone varchar(64) not null,
      location jsonb null,
      responses jsonb not null,
      metadata jsonb not null,
      previous_start_at timestamptz null,
      previous_end_at timestamptz null,
      reschedule_reason varchar(500) null,
      reschedule_count int not null,
      cancelled_at timestamptz null,
      cancellation_reason varchar(500) null,
      correlation_id varchar(128) not null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      check (start_at < end_at and hold_start_at <= start_at and end_at <= hold_end_at),
      check ((status = 'cancelled') = (cancelled_at is not null))
    );`);
    // What makes a double booking impossible, whatever the code does.
    this.addSql(`alter table booking add constraint booking_hold_excl
      exclude using gist (host_id with =, tstzrange(hold_start_at, hold_end_at) with &&)
      where (status in ('confirmed', 'pending'));`);
    this.addSql('create index booking_list_index on booking (organization_id, environment, start_at, id);');
    this.addSql('create index booking_event_type_index on booking (event_type_id, start_at, id);');
    this.addSql("create index booking_host_index on booking (host_id, start_at) where status = 'confirmed';");
    this.addSql("create index booking_counted_index on booking (event_type_id, start_at) where status = 'confirmed';");

    const tables = ['scheduling_host', 'scheduling_settings', 'scheduling_event_type', 'recurring_pattern'];
    for (const table of [...tables, 'blackout_period', 'booking']) {
      for (const sql of secureTenantTable(table)) this.addSql(sql);
    }
  }
}
