import { Migration } from '@mikro-orm/migrations';

/** The sizes of what a run was given and what it returned, so that a list need not read the large ones. */
export class Migration20261122131000_run_bytes extends Migration {
  override name = 'Migration20261122131000_run_bytes';

  override up(): void {
    this.addSql(`alter table run add column input_bytes int null, add column variables_bytes int null,
      add column output_bytes int null;`);
  }
}
