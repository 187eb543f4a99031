import { Migration } from '@mikro-orm/migrations';

/** An identity of the OpenID provider is one person's, a person has one second factor, and accounts that nobody proved are found. */
export class Migration20261201064500_account_uniqueness extends Migration {
  override name = 'Migration20261201064500_account_uniqueness';

  override up(): void {
    for (const sql of [
      `create unique index "account_one_oidc" on auth."account" ("accountId") where "providerId" = 'oidc';`,
      `delete from auth."twoFactor" t using auth."twoFactor" newer
        where newer."userId" = t."userId" and newer."id" > t."id";`,
      'create unique index "twoFactor_one_of_user" on auth."twoFactor" ("userId");',
      'create index "user_unproved_idx" on auth."user" ("createdAt") where not "emailVerified";',
    ]) {
      this.addSql(sql);
    }
  }
}
