import { Migration } from '@mikro-orm/migrations';

/** Until when the process that took a message asks its model itself, so that no other process asks meanwhile. */
export class Migration20261123171000_turn_asked extends Migration {
  override name = 'Migration20261123171000_turn_asked';

  override up(): void {
    this.addSql('alter table conversation_turn add column asked_until timestamptz null;');
  }
}
