import { Migration } from '@mikro-orm/migrations';

/** An answer that must be given again as it was is kept with its key. */
export class Migration20261121040000_idempotency_outcome extends Migration {
  override name = 'Migration20261121040000_idempotency_outcome';

  override up(): void {
    this.addSql('alter table idempotency add column outcome jsonb null;');
  }
}
