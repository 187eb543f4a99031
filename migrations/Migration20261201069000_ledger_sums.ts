import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** The sums of a tenant's old entries, so that a check of the ledger reads the new ones. */
export class Migration20261201069000_ledger_sums extends Migration {
  override name = 'Migration20261201069000_ledger_sums';

  override up(): void {
    for (const sql of [
      `create table ledger_sum (
         organization_id uuid not null references organization,
         environment varchar(4) not null check (environment in ('live', 'test')),
         last_at timestamptz not null,
         last_key varchar(200) not null,
         last_phase smallint not null,
         monthly bigint not null,
         lasting bigint not null,
         held bigint not null,
         spent bigint not null,
         lapsed bigint not null,
         issued bigint not null,
         reservations bigint not null,
         is_proven boolean not null,
         primary key (organization_id, environment)
       );`,
      ...secureTenantTable('ledger_sum'),
    ]) {
      this.addSql(sql);
    }
  }
}
