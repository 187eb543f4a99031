import { Migration } from '@mikro-orm/migrations';

/** Webhooks of integrations stand among all others, and say whose they are. */
export class Migration20261123174000_integration_webhooks extends Migration {
  override name = 'Migration20261123174000_integration_webhooks';

  override up(): void {
    this.addSql('alter table webhook_subscription add column integration varchar(40) null;');
  }
}
