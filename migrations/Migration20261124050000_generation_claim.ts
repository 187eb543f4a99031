import { Migration } from '@mikro-orm/migrations';

/** The Idempotency-Key of a generation, which the refusal of its image releases. */
export class Migration20261124050000_generation_claim extends Migration {
  override name = 'Migration20261124050000_generation_claim';

  override up(): void {
    this.addSql('alter table generation add column claim jsonb null;');
  }
}
