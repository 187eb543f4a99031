import { Migration } from '@mikro-orm/migrations';

/** The steps of a flow that wait for slots. */
export class Migration20261201030500_waiting_steps extends Migration {
  override name = 'Migration20261201030500_waiting_steps';

  override up(): void {
    this.addSql('alter table calling_run add column steps json;');
  }
}
