import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** How far a recovery of missed deliveries has come, so that it can be done in parts. */
export class Migration20261122170300_recovery extends Migration {
  override name = 'Migration20261122170300_recovery';

  override up(): void {
    this.addSql(`create table recovery (
      id uuid not null,
      organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test')),
      subscription_id uuid not null references webhook_subscription (id),
      since timestamptz not null,
      until timestamptz not null,
      reads_events boolean not null,
      after_at timestamptz not null,
      after_id uuid not null,
      queued int not null,
      finished_at timestamptz null,
      primary key (id)
    );`);
    for (const sql of secureTenantTable('recovery')) this.addSql(sql);
  }
}
