import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** How many attempts of each webhook succeeded in each of the last 24 hours. */
export class Migration20261122190000_attempt_hour extends Migration {
  override name = 'Migration20261122190000_attempt_hour';

  override up(): void {
    this.addSql(`create table attempt_hour (
      subscription_id uuid not null,
      slot smallint not null check (slot between 0 and 23),
      organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test')),
      hour timestamptz not null,
      delivered int not null,
      failed int not null,
      primary key (subscription_id, slot)
    );`);
    for (const sql of secureTenantTable('attempt_hour')) this.addSql(sql);
  }
}
