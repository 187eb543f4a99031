import { Migration } from '@mikro-orm/migrations';

/** Runs that begin at a later step, and outputs too large for a run's own row. */
export class Migration20261121090000_steps extends Migration {
  override name = 'Migration20261121090000_steps';

  override up(): void {
    this.addSql(`alter table run
      add column first_position int not null default 0,
      add column retry_of uuid null,
      add column result_step varchar(64) null,
      add column outputs_apart jsonb null;`);
    this.addSql('alter table run_step add column output_bytes int null;');
  }
}
