import { Migration } from '@mikro-orm/migrations';

/** Tokens and credits are counted for the key whose request started the work. */
export class Migration20261201064700_usage_of_keys extends Migration {
  override name = 'Migration20261201064700_usage_of_keys';

  override up(): void {
    for (const table of ['run', 'conversation_message', 'credit_hold']) {
      this.addSql(`alter table ${table} add column key_id uuid;`);
    }
  }
}
