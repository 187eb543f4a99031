import { Migration } from '@mikro-orm/migrations';

/** What the reader of a message was told before its model was interrupted: another reply would contradict it. */
export class Migration20261122165200_told_text extends Migration {
  override name = 'Migration20261122165200_told_text';

  override up(): void {
    this.addSql(`alter table conversation_turn add column told text null;`);
  }
}
