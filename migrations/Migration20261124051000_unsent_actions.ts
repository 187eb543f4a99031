import { Migration } from '@mikro-orm/migrations';

/** Whether the attempt under way has sent nothing yet: then a crash leaves nothing unknown. */
export class Migration20261124051000_unsent_actions extends Migration {
  override name = 'Migration20261124051000_unsent_actions';

  override up(): void {
    this.addSql('alter table integration_action add column unsent boolean not null default false;');
  }
}
