import { Migration } from '@mikro-orm/migrations';

/** A check of the ledger has a position, so that it continues where it was. */
export class Migration20261201067100_ledger_check_parts extends Migration {
  override name = 'Migration20261201067100_ledger_check_parts';

  override up(): void {
    this.addSql(
      `alter table ledger_check add column checked_organization_id uuid, add column checked_environment varchar(4),
         add column found int not null default 0, add column unchecked int not null default 0;`,
    );
  }
}
