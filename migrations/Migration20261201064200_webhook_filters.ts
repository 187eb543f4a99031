import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Webhooks may have filters, which are evaluated after the transaction of the event: see src/webhooks/addressing. */
export class Migration20261201064200_webhook_filters extends Migration {
  override name = 'Migration20261201064200_webhook_filters';

  override up(): void {
    for (const sql of [
      `alter table webhook_subscription
        add column filter text,
        add column filter_errors int not null default 0,
        add column rules_changed_at timestamptz;`,
      `create table event_addressing (
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        event_id uuid not null,
        after_id uuid,
        lease uuid,
        leased_until timestamptz,
        primary key (organization_id, environment, event_id)
      );`,
      ...secureTenantTable('event_addressing'),
    ]) {
      this.addSql(sql);
    }
  }
}
