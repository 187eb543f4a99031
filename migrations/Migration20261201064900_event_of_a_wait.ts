import { Migration } from '@mikro-orm/migrations';

/** The event that ended a wait, so that its answer counts what somebody else found by looking back. */
export class Migration20261201064900_event_of_a_wait extends Migration {
  override name = 'Migration20261201064900_event_of_a_wait';

  override up(): void {
    this.addSql(`
      alter table run_wait add column event_id uuid null;
      create index run_wait_resumed_index on run_wait (event_id) where event_id is not null;`);
  }
}
