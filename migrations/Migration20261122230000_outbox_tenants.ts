import { Migration } from '@mikro-orm/migrations';

/** The drain of the outbox skips from tenant to tenant. */
export class Migration20261122230000_outbox_tenants extends Migration {
  override name = 'Migration20261122230000_outbox_tenants';

  override up(): void {
    this.addSql('create index outbox_tenant_index on outbox (kind, organization_id, environment, available_at);');
  }
}
