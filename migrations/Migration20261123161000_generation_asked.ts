import { Migration } from '@mikro-orm/migrations';

/** When a provider was last asked about a generation, so that one that is watched is not asked about too often. */
export class Migration20261123161000_generation_asked extends Migration {
  override name = 'Migration20261123161000_generation_asked';

  override up(): void {
    this.addSql('alter table generation add column asked_at timestamptz null;');
  }
}
