import { Migration } from '@mikro-orm/migrations';

/** How the attempts of outbox entries went, and by which rule an audit entry's hash was made. */
export class Migration20261122000000_unit_of_work extends Migration {
  override name = 'Migration20261122000000_unit_of_work';

  override up(): void {
    this.addSql(
      'alter table outbox add column last_attempt_at timestamptz null, add column last_error varchar(80) null;',
    );
    this.addSql('create index outbox_kind_available_at_index on outbox (kind, available_at);');
    this.addSql('alter table audit_log add column hash_version smallint not null default 1;');
  }
}
