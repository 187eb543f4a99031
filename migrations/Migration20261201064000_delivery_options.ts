import { Migration } from '@mikro-orm/migrations';

/** Webhooks may get thin bodies, and requests that are signed with a private key. */
export class Migration20261201064000_delivery_options extends Migration {
  override name = 'Migration20261201064000_delivery_options';

  override up(): void {
    this.addSql(`alter table webhook_subscription
      add column payload varchar(4) not null default 'full' check (payload in ('full', 'thin')),
      add column signature varchar(7) not null default 'hmac' check (signature in ('hmac', 'ed25519')),
      add column public_key varchar(60);`);
  }
}
