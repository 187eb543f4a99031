import { Migration } from '@mikro-orm/migrations';

/**
 * Without statistics PostgreSQL takes rows to be as wide as their types say, and tables of wide rows to have few: it then
 * reads more of a list of deliveries.
 */
export class Migration20261201064600_subject_text extends Migration {
  override name = 'Migration20261201064600_subject_text';

  override up(): void {
    this.addSql('alter table delivery alter column subject type text;');
  }
}
