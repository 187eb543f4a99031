import { Migration } from '@mikro-orm/migrations';

/** Accounts know what was spent in the latest month, so that no request sums the ledger. */
export class Migration20261201067000_spent_month extends Migration {
  override name = 'Migration20261201067000_spent_month';

  override up(): void {
    for (const sql of [
      // A process of the version before does not write them. What it charges in the same month is counted nevertheless.
      'alter table credit_account add column spent_month date, add column spent_before bigint not null default 0;',
      // Nothing charges credits until the commit.
      `update credit_account a
          set spent_month = date_trunc('month', now() at time zone 'UTC')::date,
              spent_before = a.spent - coalesce((
                select sum(e.spent) from credit_entry e
                 where e.organization_id = a.organization_id and e.environment = a.environment and e.spent > 0
                   and e.created_at >= date_trunc('month', now(), 'UTC')), 0);`,
    ]) {
      this.addSql(sql);
    }
  }
}
