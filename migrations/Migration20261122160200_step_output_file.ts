import { Migration } from '@mikro-orm/migrations';

/** Large outputs of steps are files: the row has the name, and no output. */
export class Migration20261122160200_step_output_file extends Migration {
  override name = 'Migration20261122160200_step_output_file';

  override up(): void {
    this.addSql('alter table run_step add column output_file varchar(48) null;');
  }
}
