import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Retries by one workflow for each webhook that fails, and dead letters whose workflows are started at a pace. */
export class Migration20261122180000_retry_clock extends Migration {
  override name = 'Migration20261122180000_retry_clock';

  override up(): void {
    this.addSql(`create table retry_clock (
      subscription_id uuid primary key,
      organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test')),
      released_until timestamptz not null,
      looks_at timestamptz not null,
      paused_at timestamptz null,
      created_at timestamptz not null
    );`);
    this.addSql('create index retry_clock_looks_at_index on retry_clock (looks_at);');
    for (const sql of secureTenantTable('retry_clock')) this.addSql(sql);
    this.addSql('alter table webhook_subscription add column last_failure varchar(50) null;');
    this.addSql('alter table delivery add column parked_at timestamptz null;');
    this.addSql(`create index delivery_waiting_index on delivery (subscription_id, next_attempt_at)
      where status in ('pending', 'retrying') and attempts > 0;`);
    this.addSql(`create index delivery_unparked_index on delivery (subscription_id, created_at, id)
      where status = 'dead_lettered' and parked_at is null;`);
    this.addSql(`create index delivery_unparking_index on delivery (id)
      where status <> 'dead_lettered' and parked_at > '-infinity';`);
    // What waits already: deliveries with workflows of their own, which the earlier form gave to each that failed.
    this.addSql(`update delivery set parked_at = finished_at where status = 'dead_lettered' and attempts > 0;`);
    this.addSql(`insert into retry_clock
        (subscription_id, organization_id, environment, released_until, looks_at, created_at)
      select distinct on (subscription_id) subscription_id, organization_id, environment, now(), now(), now()
        from delivery where status in ('pending', 'retrying') and attempts > 0;`);
  }
}
