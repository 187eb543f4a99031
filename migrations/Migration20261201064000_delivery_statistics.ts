import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

const classes = ['status_2xx', 'status_3xx', 'status_4xx', 'status_5xx', 'no_answer', 'dead_lettered'];

/** Attempts are counted by minute and by hour, of an hour and of 30 days, with their status and their duration. */
export class Migration20261201064000_delivery_statistics extends Migration {
  override name = 'Migration20261201064000_delivery_statistics';

  override up(): void {
    for (const sql of [
      'alter table attempt_hour drop constraint attempt_hour_slot_check;',
      'alter table attempt_hour add constraint attempt_hour_slot_check check (slot >= 0 and slot <= 719);',
      ...classes.map((name) => `alter table attempt_hour add column ${name} int not null default 0;`),
      `alter table attempt_hour add column latencies int[] not null default '{}';`,
      `create table attempt_minute (
        subscription_id uuid not null,
        slot smallint not null check (slot >= 0 and slot <= 59),
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        minute timestamptz not null,
        ${classes.map((name) => `${name} int not null`).join(',\n        ')},
        latencies int[] not null,
        primary key (subscription_id, slot)
      );`,
      ...secureTenantTable('attempt_minute'),
    ]) {
      this.addSql(sql);
    }
  }
}
