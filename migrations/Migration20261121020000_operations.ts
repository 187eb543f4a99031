import { Migration } from '@mikro-orm/migrations';
import { secureSystemTable } from './row-level-security.ts';

/** Browser measures, mails that are sent once, uses of deprecated routes, the audit log, and runs that are open. */
export class Migration20261121020000_operations extends Migration {
  override name = 'Migration20261121020000_operations';

  override up(): void {
    this.addSql(`create table vital (
      name varchar(40) not null,
      path varchar(200) not null,
      samples double precision[] not null,
      count bigint not null,
      measured_at timestamptz not null,
      primary key (name, path)
    );`);
    this.addSql(`create table notice (
      organization_id uuid not null,
      about varchar(300) not null,
      leased_until timestamptz not null,
      sent_at timestamptz null,
      primary key (organization_id, about)
    );`);
    this.addSql(`create table deprecated_use (
      organization_id uuid not null,
      route varchar(200) not null,
      sunset date not null,
      last_used_at timestamptz not null,
      primary key (organization_id, route)
    );`);
    this.addSql(`create table audit_log (
      organization_id uuid not null,
      number int not null,
      environment varchar(4) null,
      action varchar(40) not null,
      subject_id uuid not null,
      actor varchar(64) not null,
      correlation_id varchar(128) null,
      facts jsonb not null,
      recorded_at timestamptz not null,
      previous_hash bytea not null,
      hash bytea not null,
      primary key (organization_id, number)
    );`);
    for (const table of ['notice', 'deprecated_use', 'audit_log']) {
      this.addSql(`alter table ${table} add foreign key (organization_id) references organization (id);`);
    }
    for (const table of ['vital', 'notice', 'deprecated_use']) {
      for (const sql of secureSystemTable(table)) this.addSql(sql);
    }

    // A tenant's own work writes into its organization's log and reads the entry that it follows. Nobody may change one.
    const own = "organization_id = nullif(current_setting('atelier.organization_id', true), '')::uuid";
    this.addSql('alter table audit_log enable row level security;');
    this.addSql('alter table audit_log force row level security;');
    this.addSql(`create policy tenant on audit_log to atelier_tenant using (${own}) with check (${own});`);
    this.addSql('create policy system on audit_log to atelier_system using (true) with check (true);');
    this.addSql('grant select, insert on audit_log to atelier_tenant, atelier_system;');
    // The function came with the ledger, which keeps its entries in the same way.
    this.addSql(`create trigger only_grows before update or delete on audit_log
      for each row execute function refuse_change();`);
    this.addSql(`create trigger never_emptied before truncate on audit_log
      for each statement execute function refuse_change();`);

    this.addSql('grant select on mikro_orm_migrations to atelier_system;');

    // How many runs are open, and since when, without a look at those that are over.
    this.addSql("create index run_open_index on run (status, created_at) where status in ('queued', 'running');");
  }
}
