import { Migration } from '@mikro-orm/migrations';
import { secureSystemTable } from './row-level-security.ts';

/** Vitals, notices and records of housekeeping. */
export class Migration20261201014000_operations extends Migration {
  override name = 'Migration20261201014000_operations';

  override up(): void {
    for (const sql of [
      `create table deprecated_use (
        organization_id uuid not null references organization,
        route varchar(200) not null,
        sunset date not null,
        last_used_at timestamptz not null,
        primary key (organization_id, route)
      );`,
      ...secureSystemTable('deprecated_use'),
      `create table notice (
        organization_id uuid not null references organization,
        about varchar(300) not null,
        leased_until timestamptz not null,
        sent_at timestamptz,
        primary key (organization_id, about)
      );`,
      ...secureSystemTable('notice'),
      `create table vital (
        name varchar(40) not null,
        path varchar(200) not null,
        samples float8[] not null,
        count bigint not null,
        measured_at timestamptz not null,
        primary key (name, path)
      );`,
      ...secureSystemTable('vital'),
    ]) {
      this.addSql(sql);
    }
  }
}
