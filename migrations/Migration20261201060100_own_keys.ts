import { Migration } from '@mikro-orm/migrations';
import { ownOrganization } from './row-level-security.ts';

/** A tenant's own work lists, makes and ends the keys of its organization. Hashes are for the look-up of keys alone. */
export class Migration20261201060100_own_keys extends Migration {
  override name = 'Migration20261201060100_own_keys';

  override up(): void {
    for (const sql of [
      `create policy tenant on api_key to atelier_tenant using (${ownOrganization}) with check (${ownOrganization});`,
      `grant select (id, organization_id, environment, name, prefix, last_four, scopes, variant, created_at, last_used_at,
         expires_at, revoked_at, created_by) on api_key to atelier_tenant;`,
      'grant insert on api_key to atelier_tenant;',
      'grant update (name, expires_at, revoked_at) on api_key to atelier_tenant;',
    ]) {
      this.addSql(sql);
    }
  }
}
