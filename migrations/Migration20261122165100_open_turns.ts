import { Migration } from '@mikro-orm/migrations';

/** Messages of one tenant that are under way are counted when another one is sent. */
export class Migration20261122165100_open_turns extends Migration {
  override name = 'Migration20261122165100_open_turns';

  override up(): void {
    this.addSql(`create index conversation_turn_tenant_open_index on conversation_turn (organization_id, environment)
      where status = 'processing';`);
  }
}
