import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Events that start runs, and the triggers of workflows. */
export class Migration20261201024000_events extends Migration {
  override name = 'Migration20261201024000_events';

  override up(): void {
    for (const sql of [
      // Seconds before it began in which its event may have arrived; null once nobody has to look back any more.
      'alter table run_wait add column look_back int;',
      `create table workflow_event (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        type varchar(128) not null,
        external_id varchar(255) not null,
        subject_id uuid,
        is_own boolean not null,
        content json,
        chain json,
        correlation_id varchar(128) not null,
        received_at timestamptz not null,
        after_id uuid,
        looked_at int not null,
        resumed int not null,
        started int not null,
        is_answered boolean not null,
        was_complete boolean,
        is_complete boolean not null,
        lease uuid,
        leased_until timestamptz,
        primary key (id)
      );`,
      // What the platform itself publishes once, it writes here once.
      `create unique index workflow_event_subject_index on workflow_event (subject_id, type) where subject_id is not null;`,
      'create index workflow_event_name_index on workflow_event (organization_id, environment, type, received_at, id);',
      `create index workflow_event_open_index on workflow_event (organization_id, environment, type, received_at, id)
        where not is_complete;`,
      'create index workflow_event_received_index on workflow_event (received_at) where is_complete;',
      ...secureTenantTable('workflow_event'),
      `create table event_trigger (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        automation_id uuid not null references automation on delete cascade,
        position smallint not null,
        event varchar(128) not null,
        filter text,
        inputs json,
        last_fired_at timestamptz,
        last_skipped_at timestamptz,
        last_skipped_reason varchar(60),
        created_at timestamptz not null,
        primary key (id)
      );`,
      'create index event_trigger_event_index on event_trigger (organization_id, environment, event, id);',
      'create index event_trigger_automation_index on event_trigger (automation_id, position);',
      ...secureTenantTable('event_trigger'),
      // Runs that an event is still to start.
      `create table event_start (
        event_id uuid not null references workflow_event on delete cascade,
        automation_id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        trigger_id uuid not null references event_trigger on delete cascade,
        variables json not null,
        primary key (event_id, automation_id)
      );`,
      'create index event_start_tenant_index on event_start (organization_id, environment, event_id);',
      'create index event_start_trigger_index on event_start (trigger_id);',
      ...secureTenantTable('event_start'),
      // Every publication asks it: two or three looks at an index, and most find nothing.
      `create function is_event_awaited(of_organization uuid, of_environment text, of_type text) returns boolean
        language sql stable as $$
          select exists (select from event_trigger
                          where organization_id = of_organization and environment = of_environment and event = of_type)
              or exists (select from run_wait
                          where organization_id = of_organization and environment = of_environment and event = of_type
                            and state = 'open')
        $$;`,
      `create function notify_workflow_event() returns trigger language plpgsql as $$
        begin
          perform pg_notify('atelier_workflow_events', '');
          return null;
        end $$;`,
      `create trigger workflow_event_is_notified after insert on workflow_event for each row
        when (not new.is_complete) execute function notify_workflow_event();`,
    ]) {
      this.addSql(sql);
    }
  }
}
