import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** How far events of a connection were asked for, and the subscriptions by which a provider pushes them. */
export class Migration20261123172100_followed_integrations extends Migration {
  override name = 'Migration20261123172100_followed_integrations';

  override up(): void {
    const tenant = `organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test'))`;
    this.addSql(`create table integration_poll (
      connection_id uuid primary key,
      ${tenant},
      cursor text not null,
      polled_at timestamptz not null
    );`);
    this.addSql(`create table integration_push (
      connection_id uuid not null,
      resource varchar(500) not null,
      ${tenant},
      subscription_id varchar(200) not null,
      client_state_hash varchar(64) not null,
      ends_at timestamptz not null,
      primary key (connection_id, resource)
    );`);
    for (const table of ['integration_poll', 'integration_push']) {
      for (const sql of secureTenantTable(table)) this.addSql(sql);
    }
  }
}
