import { Migration } from '@mikro-orm/migrations';

/** A webhook that is deleted keeps no sealed values: neither its secrets nor its headers. */
export class Migration20261124030100_erased_secrets extends Migration {
  override name = 'Migration20261124030100_erased_secrets';

  override up(): void {
    this.addSql('alter table webhook_subscription alter column sealed_secret drop not null;');
    this.addSql(`update webhook_subscription
       set sealed_secret = null, sealed_previous_secret = null, sealed_older_secret = null, sealed_headers = null
     where deleted_at is not null;`);
  }
}
