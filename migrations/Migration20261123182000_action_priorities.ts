import { Migration } from '@mikro-orm/migrations';

/** Which of the actions that wait for a worker goes first. */
export class Migration20261123182000_action_priorities extends Migration {
  override name = 'Migration20261123182000_action_priorities';

  override up(): void {
    this.addSql("alter table integration_action add column priority varchar(6) not null default 'normal';");
  }
}
