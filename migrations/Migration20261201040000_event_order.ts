import { Migration } from '@mikro-orm/migrations';

/** An event and a wait that begin at the same time are decided by the order of their commits. */
export class Migration20261201040000_event_order extends Migration {
  override name = 'Migration20261201040000_event_order';

  override up(): void {
    // Volatile, so that it looks at what was committed until it had the lock, and not until its statement began.
    this.addSql(`
      create function lock_event_name(of_organization uuid, of_environment text, of_type text) returns boolean
        language plpgsql volatile as $$
        begin
          perform pg_advisory_xact_lock_shared(
            hashtextextended(concat_ws(':', of_organization, of_environment, 'event:' || of_type), 0));
          return is_event_awaited(of_organization, of_environment, of_type);
        end $$;`);
  }
}
