import { Migration } from '@mikro-orm/migrations';

/** How far a list of missed events was read: the rest is read by the next run. */
export class Migration20261201067800_catch_up extends Migration {
  override name = 'Migration20261201067800_catch_up';

  override up(): void {
    this.addSql('alter table integration_push add column catch_up jsonb;');
  }
}
