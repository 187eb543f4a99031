import { Migration } from '@mikro-orm/migrations';
import { secureSystemTable, secureTenantTable } from './row-level-security.ts';

/** Subscriptions, events and their deliveries. */
export class Migration20261201007000_webhooks extends Migration {
  override name = 'Migration20261201007000_webhooks';

  override up(): void {
    for (const sql of [
      `create table attempt_hour (
        subscription_id uuid not null,
        slot smallint not null check (slot >= 0 and slot <= 23),
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        hour timestamptz not null,
        delivered int not null,
        failed int not null,
        primary key (subscription_id, slot)
      );`,
      ...secureTenantTable('attempt_hour'),
      `create table delivery_backlog (
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        room bigint not null,
        primary key (organization_id, environment)
      );`,
      ...secureTenantTable('delivery_backlog'),
      // Lists with filters and totals need no scan: see src/webhooks/deliveries/delivery-blocks.ts.
      `create table delivery_block (
        subscription_id uuid not null,
        ends_at timestamptz not null,
        ends_id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        announced_by bigint,
        is_counted boolean not null,
        primary key (subscription_id, ends_at, ends_id)
      );`,
      'create index delivery_block_uncounted_index on delivery_block (subscription_id) where not is_counted;',
      ...secureTenantTable('delivery_block'),
      `create table delivery_block_count (
        subscription_id uuid not null,
        ends_at timestamptz not null,
        ends_id uuid not null,
        event_type varchar(60) not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        pending int not null,
        retrying int not null,
        dead_lettered int not null,
        delivered int not null,
        failed int not null,
        primary key (subscription_id, ends_at, ends_id, event_type)
      );`,
      `create index delivery_block_empty_index on delivery_block_count (subscription_id) where pending = 0 and retrying = 0 and dead_lettered = 0 and delivered = 0 and failed = 0;`,
      ...secureTenantTable('delivery_block_count'),
      `create table delivery_change (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        subscription_id uuid not null,
        ends_at timestamptz not null,
        ends_id uuid not null,
        event_type varchar(60) not null,
        was varchar(20),
        becomes varchar(20),
        primary key (id)
      );`,
      'create index delivery_change_block_index on delivery_change (subscription_id, ends_at, ends_id);',
      ...secureTenantTable('delivery_change'),
      `create table event (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        type varchar(60) not null,
        subject_id uuid,
        facts json not null,
        correlation_id varchar(128) not null,
        created_at timestamptz not null,
        primary key (id),
        constraint event_subject_id_type_unique unique (subject_id, type)
      );`,
      'create index event_correlation_index on event (correlation_id);',
      `create index event_organization_id_environment_created_at_id_index on event (organization_id, environment, created_at, id);`,
      ...secureTenantTable('event'),
      // Events whose deliveries are created after the transaction of their cause: see src/webhooks/deliveries/fan-out.ts.
      `create table event_fan_out (
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        event_id uuid not null,
        after_id uuid,
        primary key (organization_id, environment, event_id)
      );`,
      ...secureTenantTable('event_fan_out'),
      `create table retry_release (
        subscription_id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        released_until timestamptz not null,
        looks_at timestamptz not null,
        paused_at timestamptz,
        created_at timestamptz not null,
        primary key (subscription_id)
      );`,
      'create index retry_release_looks_at_index on retry_release (looks_at);',
      ...secureTenantTable('retry_release'),
      `create table skipped_events (
        subscription_id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        count int not null,
        first_at timestamptz not null,
        last_at timestamptz not null,
        primary key (subscription_id)
      );`,
      ...secureTenantTable('skipped_events'),
      `create table webhook_host (
        host varchar(255) not null,
        free_at timestamptz not null,
        primary key (host)
      );`,
      ...secureSystemTable('webhook_host'),
      `create table webhook_subscription (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        name varchar(100) not null,
        url text not null,
        events jsonb not null,
        is_active boolean not null,
        disabled_reason varchar(20),
        disabled_at timestamptz,
        max_attempts int not null,
        sealed_headers text,
        rate_limit int,
        concurrency int not null,
        sealed_secret text,
        sealed_previous_secret text,
        previous_secret_expires_at timestamptz,
        consecutive_failures int not null,
        next_probe_at timestamptz,
        failing_since timestamptz,
        last_failed_at timestamptz,
        rate_free_at timestamptz,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        deleted_at timestamptz,
        sealed_older_secret text,
        older_secret_expires_at timestamptz,
        last_failure varchar(50),
        integration varchar(40),
        recoverable_from timestamptz,
        primary key (id)
      );`,
      // Every event reads them, however many webhooks were deleted or turned off.
      `create index webhook_subscription_active_index on webhook_subscription (organization_id, environment) where is_active and deleted_at is null;`,
      `create index webhook_subscription_deleted_index on webhook_subscription (deleted_at) where deleted_at is not null;`,
      `create index webhook_subscription_tenant_index on webhook_subscription (organization_id, environment, created_at, id);`,
      ...secureTenantTable('webhook_subscription'),
      // No foreign key to the event: its own removal, long after that of its deliveries, would look for them without an index.
      `create table delivery (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        subscription_id uuid not null references webhook_subscription,
        event_id uuid not null,
        status varchar(20) not null,
        attempts int not null,
        schedule_attempts int not null,
        next_attempt_at timestamptz,
        leased_until timestamptz,
        status_code int,
        response_body text,
        response_body_truncated boolean not null,
        duration_ms int,
        error_class varchar(40),
        created_at timestamptz not null,
        finished_at timestamptz,
        ignores_breaker boolean not null default false,
        resent_event_id uuid,
        event_type varchar(60) not null,
        parked_at timestamptz,
        primary key (id),
        constraint delivery_subscription_id_event_id_unique unique (subscription_id, event_id)
      );`,
      // One delivery in 1,024 ends a block. The last bits of its id are random.
      `create index delivery_block_end_index on delivery (subscription_id, created_at, id) where ((get_byte(uuid_send(id), 15) = 0) and ((get_byte(uuid_send(id), 14) % 4) = 0));`,
      `create index delivery_dead_index on delivery (finished_at, id) where status = 'dead_lettered';`,
      `create index delivery_due_index on delivery (next_attempt_at) where status in ('pending', 'retrying') and attempts > 0;`,
      `create index delivery_exempt_index on delivery (subscription_id) where ignores_breaker and status in ('pending', 'retrying');`,
      `create index delivery_first_index on delivery (subscription_id, created_at) where status = 'pending' and attempts = 0;`,
      `create index delivery_lease_index on delivery (subscription_id, leased_until) where leased_until is not null;`,
      'create index delivery_list_index on delivery (subscription_id, event_type, status, created_at, id);',
      'create index delivery_resent_index on delivery (resent_event_id) where resent_event_id is not null;',
      'create index delivery_subscription_id_created_at_id_index on delivery (subscription_id, created_at, id);',
      `create index delivery_unparked_index on delivery (subscription_id, created_at, id) where status = 'dead_lettered' and (parked_at is null or parked_at = 'infinity');`,
      `create index delivery_unparking_index on delivery (id) where status <> 'dead_lettered' and parked_at > '-infinity';`,
      // Lists by a status that few deliveries have.
      `create index delivery_unusual_index on delivery (subscription_id, status, created_at, id) where status in ('retrying', 'dead_lettered', 'failed');`,
      `create index delivery_waiting_index on delivery (subscription_id, next_attempt_at) where status in ('pending', 'retrying') and attempts > 0;`,
      ...secureTenantTable('delivery'),
      `create table delivery_attempt (
        delivery_id uuid not null references delivery,
        number int not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        started_at timestamptz not null,
        duration_ms int not null,
        status_code int,
        response_body text,
        response_body_truncated boolean not null,
        error_class varchar(40),
        primary key (delivery_id, number)
      );`,
      ...secureTenantTable('delivery_attempt'),
      `create table recovery (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        subscription_id uuid not null references webhook_subscription,
        since timestamptz not null,
        until timestamptz not null,
        reads_events boolean not null,
        after_at timestamptz not null,
        after_id uuid not null,
        queued int not null,
        finished_at timestamptz,
        primary key (id)
      );`,
      'create index recovery_open_index on recovery (id) where finished_at is null;',
      ...secureTenantTable('recovery'),
      // Every statement that changes deliveries is counted, whichever it is. Deliveries younger than 30 seconds are in no block.
      `create function note_delivery_change()
       returns trigger language plpgsql as $$
      declare
        d delivery;
      begin
        if tg_op = 'DELETE' then d := old; else d := new; end if;
        insert into delivery_change (id, organization_id, environment, subscription_id, ends_at, ends_id, event_type, was, becomes)
        select uuidv7(), d.organization_id, d.environment, d.subscription_id, b.ends_at, b.ends_id,
               d.event_type,
               old.status, new.status
          from delivery_block b
         where b.subscription_id = d.subscription_id and (b.ends_at, b.ends_id) >= (d.created_at, d.id)
         order by b.ends_at, b.ends_id limit 1;
        return null;
      end $$;`,
      `create trigger delivery_delete_is_counted after delete on delivery for each row when (old.created_at < clock_timestamp() - interval '30 seconds') execute function note_delivery_change();`,
      `create trigger delivery_insert_is_counted after insert on delivery for each row when (new.created_at < clock_timestamp() - interval '30 seconds') execute function note_delivery_change();`,
      `create trigger delivery_update_is_counted after update on delivery for each row when (old.status is distinct from new.status and new.created_at < clock_timestamp() - interval '30 seconds') execute function note_delivery_change();`,
    ]) {
      this.addSql(sql);
    }
  }
}
