import { Migration } from '@mikro-orm/migrations';
import { secureSystemTable } from './row-level-security.ts';

/** When the credit ledger was last proved, and what was found. */
export class Migration20261121061000_ledger_check extends Migration {
  override name = 'Migration20261121061000_ledger_check';

  override up(): void {
    this.addSql(`create table ledger_check (
      name varchar(20) not null,
      due_at timestamptz not null,
      checked_at timestamptz null,
      faults int null,
      primary key (name)
    );`);
    for (const sql of secureSystemTable('ledger_check')) this.addSql(sql);
  }
}
