import { Migration } from '@mikro-orm/migrations';

/** A person has one password: of two that are set at the same moment, the first counts. */
export class Migration20261201063000_one_password extends Migration {
  override name = 'Migration20261201063000_one_password';

  override up(): void {
    this.addSql(
      `create unique index "account_one_password" on auth."account" ("userId") where "providerId" = 'credential';`,
    );
  }
}
