import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

const tenant = `organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test'))`;

/** Who hears of what, what happened, and how it got there. */
export class Migration20261121110000_webhooks extends Migration {
  override name = 'Migration20261121110000_webhooks';

  override up(): void {
    this.addSql(`create table webhook_subscription (
      id uuid not null,
      ${tenant},
      name varchar(100) not null,
      url text not null,
      events jsonb not null,
      is_active boolean not null,
      disabled_reason varchar(20) null,
      disabled_at timestamptz null,
      max_attempts int not null,
      sealed_headers text null,
      rate_limit int null,
      concurrency int not null,
      sealed_secret text not null,
      sealed_previous_secret text null,
      previous_secret_expires_at timestamptz null,
      consecutive_failures int not null,
      next_probe_at timestamptz null,
      failing_since timestamptz null,
      last_failed_at timestamptz null,
      rate_free_at timestamptz null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      deleted_at timestamptz null,
      primary key (id)
    );`);
    this.addSql(`create index webhook_subscription_tenant_index
      on webhook_subscription (organization_id, environment, created_at, id);`);

    this.addSql(`create table event (
      id uuid not null,
      ${tenant},
      type varchar(60) not null,
      subject_id uuid null,
      facts jsonb not null,
      correlation_id varchar(128) not null,
      created_at timestamptz not null,
      primary key (id)
    );`);
    this.addSql('alter table event add constraint event_subject_id_type_unique unique (subject_id, type);');
    this.addSql(`create index event_organization_id_environment_created_at_id_index
      on event (organization_id, environment, created_at, id);`);

    this.addSql(`create table delivery (
      id uuid not null,
      ${tenant},
      subscription_id uuid not null,
      event_id uuid not null,
      status varchar(20) not null,
      attempts int not null,
      schedule_attempts int not null,
      next_attempt_at timestamptz null,
      leased_until timestamptz null,
      status_code int null,
      response_body text null,
      response_body_truncated boolean not null,
      duration_ms int null,
      error_class varchar(40) null,
      created_at timestamptz not null,
      finished_at timestamptz null,
      primary key (id)
    );`);
    this.addSql('alter table delivery add foreign key (subscription_id) references webhook_subscription (id);');
    // No foreign key to the event: its own removal, long after that of its deliveries, would look for them without an index.
    this.addSql(`alter table delivery add constraint delivery_subscription_id_event_id_unique
      unique (subscription_id, event_id);`);
    for (const [name, columns, where] of [
      ['delivery_subscription_id_created_at_id_index', 'subscription_id, created_at, id', undefined],
      ['delivery_first_index', 'subscription_id, created_at', "status = 'pending' and attempts = 0"],
      ['delivery_due_index', 'next_attempt_at', "status in ('pending', 'retrying') and attempts > 0"],
      ['delivery_lease_index', 'subscription_id, leased_until', 'leased_until is not null'],
      ['delivery_dead_index', 'finished_at, id', "status = 'dead_lettered'"],
    ]) {
      this.addSql(`create index ${name} on delivery (${columns})${where ? ` where ${where}` : ''};`);
    }

    this.addSql(`create table delivery_attempt (
      delivery_id uuid not null,
      number int not null,
      ${tenant},
      started_at timestamptz not null,
      duration_ms int not null,
      status_code int null,
      response_body text null,
      response_body_truncated boolean not null,
      error_class varchar(40) null,
      primary key (delivery_id, number)
    );`);
    this.addSql('alter table delivery_attempt add foreign key (delivery_id) references delivery (id);');

    for (const table of ['webhook_subscription', 'event', 'delivery', 'delivery_attempt']) {
      for (const sql of secureTenantTable(table)) this.addSql(sql);
    }
  }
}
