import { Migration } from '@mikro-orm/migrations';

/** Which process mails an invitation, so that several do not mail it at the same time, and when it is tried again. */
export class Migration20261201065000_invitation_leases extends Migration {
  override name = 'Migration20261201065000_invitation_leases';

  override up(): void {
    this.addSql(`
      alter table auth."invitation" add column "leasedUntil" timestamptz;
      create index "invitation_unmailed_idx" on auth."invitation" ("organizationId", "id")
        where "mailedAt" is null and "status" = 'pending';`);
  }
}
