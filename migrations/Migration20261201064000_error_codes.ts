import { Migration } from '@mikro-orm/migrations';

/** A step of type `fail` names a code of up to 64 characters. A longer limit changes the catalogue alone. */
export class Migration20261201064000_error_codes extends Migration {
  override name = 'Migration20261201064000_error_codes';

  override up(): void {
    this.addSql('alter table run alter column error_code type varchar(64);');
  }
}
