import { Migration } from '@mikro-orm/migrations';

/** Workflows that are started from elsewhere, by whoever knows their secret. */
export class Migration20261121100000_trigger extends Migration {
  override name = 'Migration20261121100000_trigger';

  override up(): void {
    this.addSql('alter table automation add column trigger_secret_hash bytea null;');
  }
}
