import { Migration } from '@mikro-orm/migrations';
import { secureSystemTable } from './row-level-security.ts';

/** The rate of attempts to each host, of all organizations together. */
export class Migration20261122112000_webhook_host extends Migration {
  override name = 'Migration20261122112000_webhook_host';

  override up(): void {
    this.addSql(`create table webhook_host (
      host varchar(255) not null,
      free_at timestamptz not null,
      primary key (host)
    );`);
    for (const sql of secureSystemTable('webhook_host')) this.addSql(sql);
  }
}
