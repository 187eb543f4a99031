import { Migration } from '@mikro-orm/migrations';

/** Finds the connections of one account, whoever connected it. */
export class Migration20261122162100_same_account extends Migration {
  override name = 'Migration20261122162100_same_account';

  override up(): void {
    this.addSql(`create index oauth_connection_same_account_index
      on oauth_connection (purpose, provider, account_id);`);
  }
}
