import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Short-lived tokens of browsers. Each belongs to the key that made it. */
export class Migration20261201051000_browser_tokens extends Migration {
  override name = 'Migration20261201051000_browser_tokens';

  override up(): void {
    for (const sql of [
      `create table browser_token (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        key_id uuid not null references api_key on delete cascade,
        hash bytea not null,
        scopes text[] not null,
        run_ids uuid[],
        workflow_ids uuid[],
        batch_id uuid,
        tags text[],
        origins text[],
        max_uses int,
        uses int not null default 0,
        created_at timestamptz not null,
        expires_at timestamptz not null,
        primary key (id),
        constraint browser_token_hash_unique unique (hash)
      );`,
      'create index browser_token_key_index on browser_token (key_id);',
      'create index browser_token_expires_index on browser_token (expires_at);',
      ...secureTenantTable('browser_token'),
    ]) {
      this.addSql(sql);
    }
  }
}
