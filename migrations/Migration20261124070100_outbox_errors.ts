import { Migration } from '@mikro-orm/migrations';

/** The error of an entry says what happened, not only its class. A longer varchar rewrites no row. */
export class Migration20261124070100_outbox_errors extends Migration {
  override name = 'Migration20261124070100_outbox_errors';

  override up(): void {
    this.addSql('alter table outbox alter column last_error type varchar(500);');
  }
}
