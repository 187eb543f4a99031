import { Migration } from '@mikro-orm/migrations';

/** How many runs of an organization may call out at the same time, where an operator sets it. */
export class Migration20261122160100_calling_runs_of_organization extends Migration {
  override name = 'Migration20261122160100_calling_runs_of_organization';

  override up(): void {
    this.addSql('alter table organization add column calling_runs int null;');
    this.addSql('grant select (calling_runs) on organization to atelier_tenant;');
  }
}
