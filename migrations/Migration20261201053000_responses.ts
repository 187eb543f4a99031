import { Migration } from '@mikro-orm/migrations';

/** What is said of a response beside its reply. Messages without it cannot be read again by their id. */
export class Migration20261201053000_responses extends Migration {
  override name = 'Migration20261201053000_responses';

  override up(): void {
    this.addSql('alter table conversation_message add column about text;');
  }
}
