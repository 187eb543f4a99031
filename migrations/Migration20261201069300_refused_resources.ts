import { Migration } from '@mikro-orm/migrations';

/** Why events of a connection do not arrive, and when refused subscriptions are requested again. */
export class Migration20261201069300_refused_resources extends Migration {
  override name = 'Migration20261201069300_refused_resources';

  override up(): void {
    this.addSql('alter table integration_connection add column events_error varchar(100);');
    this.addSql(`alter table integration_connection add column refused_resources jsonb not null default '{}';`);
  }
}
