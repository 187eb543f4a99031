import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Secrets of organizations, which steps send without showing them. */
export class Migration20261201021000_secrets extends Migration {
  override name = 'Migration20261201021000_secrets';

  override up(): void {
    for (const sql of [
      `create table secret (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        name varchar(64) not null,
        sealed_value text not null,
        created_at timestamptz not null,
        updated_at timestamptz not null,
        last_used_at timestamptz,
        primary key (id),
        constraint secret_name_unique unique (organization_id, environment, name)
      );`,
      ...secureTenantTable('secret'),
    ]) {
      this.addSql(sql);
    }
  }
}
