import { Migration } from '@mikro-orm/migrations';

/** Announces entries of the outbox that are due at once: no process attempts them after the commit, so they are drained. */
export class Migration20261201070000_outbox_due extends Migration {
  override name = 'Migration20261201070000_outbox_due';

  override up(): void {
    this.addSql(`create function announce_due_entry() returns trigger language plpgsql as $$
      begin
        perform pg_notify('outbox_due', '');
        return null;
      end $$;`);
    this.addSql(`create trigger outbox_announces_due after insert or update of available_at on outbox for each row
      when (new.available_at <= clock_timestamp()) execute function announce_due_entry();`);
  }
}
