import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** What a tenant used in a month: it outlives the deletion of what it was used for. */
export class Migration20261121050000_usage extends Migration {
  override name = 'Migration20261121050000_usage';

  override up(): void {
    this.addSql(`create table usage_month (
      organization_id uuid not null references organization (id),
      environment varchar(4) not null check (environment in ('live', 'test')),
      month date not null,
      requests bigint not null default 0,
      runs bigint not null default 0,
      tokens bigint not null default 0,
      primary key (organization_id, environment, month)
    );`);
    for (const sql of secureTenantTable('usage_month')) this.addSql(sql);
  }
}
