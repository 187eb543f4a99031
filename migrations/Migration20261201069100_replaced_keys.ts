import { Migration } from '@mikro-orm/migrations';

/** The key that a rotation made in place of this one. Keys that were rotated before have none. */
export class Migration20261201069100_replaced_keys extends Migration {
  override name = 'Migration20261201069100_replaced_keys';

  override up(): void {
    this.addSql('alter table api_key add column replaced_by uuid;');
    this.addSql('grant select (replaced_by), update (replaced_by) on api_key to atelier_tenant;');
  }
}
