import { Migration } from '@mikro-orm/migrations';

/**
 * The clock of the product's statements. A test replaces both functions in its own database to advance the time.
 * PostgreSQL inlines them, so a plan is the one of `clock_timestamp()` and `statement_timestamp()`. They are parallel safe,
 * because PostgreSQL decides on parallel plans before it inlines. They have no schema of their own: tables that an owner
 * called `atelier` creates later would be made in a schema of this name.
 */
export class Migration20261201071000_product_clock extends Migration {
  override name = 'Migration20261201071000_product_clock';

  override up(): void {
    for (const sql of [
      `create function atelier_now() returns timestamptz language sql volatile parallel safe
         as 'select clock_timestamp()';`,
      // Stable, so that an index can be searched with it.
      `create function atelier_statement_now() returns timestamptz language sql stable parallel safe
         as 'select statement_timestamp()';`,
      // By any other clock, an entry that is due at an advanced time would wait for the next drain.
      `create or replace trigger outbox_announces_due after insert or update of available_at on outbox for each row
        when (new.available_at <= atelier_now()) execute function announce_due_entry();`,
    ]) {
      this.addSql(sql);
    }
  }
}
