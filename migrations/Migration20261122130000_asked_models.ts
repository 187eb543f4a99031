import { Migration } from '@mikro-orm/migrations';

/** The models that a step asked before one answered. */
export class Migration20261122130000_asked_models extends Migration {
  override name = 'Migration20261122130000_asked_models';

  override up(): void {
    this.addSql('alter table run_step add column models jsonb null;');
  }
}
