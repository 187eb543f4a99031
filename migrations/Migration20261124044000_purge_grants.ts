import { Migration } from '@mikro-orm/migrations';

/** What the removal of an organization deletes from tables of which nothing was deleted before. */
export class Migration20261124044000_purge_grants extends Migration {
  override name = 'Migration20261124044000_purge_grants';

  override up(): void {
    this.addSql(`grant delete on organization, api_key, usage_month, credit_account, credit_entry, credit_hold, audit_log,
      notice, deprecated_use, allowed_redirect, storage_used to atelier_system;`);
  }
}
