import { Migration } from '@mikro-orm/migrations';

/** The images that generations work on, and what is known of a cut-out. */
export class Migration20261123150000_generation_images extends Migration {
  override name = 'Migration20261123150000_generation_images';

  override up(): void {
    this.addSql(`alter table generation
      add column image_url text null,
      add column image jsonb null,
      add column has_transparency boolean null;`);
  }
}
