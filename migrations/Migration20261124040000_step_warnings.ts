import { Migration } from '@mikro-orm/migrations';

/** How many warnings a step had: the row keeps the first of them only. */
export class Migration20261124040000_step_warnings extends Migration {
  override name = 'Migration20261124040000_step_warnings';

  override up(): void {
    this.addSql('alter table run_step add column warnings_total int null;');
  }
}
