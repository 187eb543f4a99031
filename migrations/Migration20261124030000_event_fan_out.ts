import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

const tenant = `organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test'))`;

/** Events whose deliveries are created after the transaction of their cause. src/webhooks/fan-out.ts says how. */
export class Migration20261124030000_event_fan_out extends Migration {
  override name = 'Migration20261124030000_event_fan_out';

  override up(): void {
    this.addSql(`create table event_fan_out (
      ${tenant},
      event_id uuid not null,
      after_id uuid null,
      primary key (organization_id, environment, event_id)
    );`);
    this.addSql(`create table delivery_backlog (
      ${tenant},
      room bigint not null,
      primary key (organization_id, environment)
    );`);
    this.addSql(`create table skipped_events (
      subscription_id uuid not null primary key,
      ${tenant},
      count int not null,
      first_at timestamptz not null,
      last_at timestamptz not null
    );`);
    for (const table of ['event_fan_out', 'delivery_backlog', 'skipped_events']) {
      for (const sql of secureTenantTable(table)) this.addSql(sql);
    }
    // Every event reads them, however many webhooks were deleted or turned off.
    this.addSql(`create index webhook_subscription_active_index on webhook_subscription (organization_id, environment)
      where is_active and deleted_at is null;`);
    this.addSql('create index recovery_open_index on recovery (id) where finished_at is null;');
  }
}
