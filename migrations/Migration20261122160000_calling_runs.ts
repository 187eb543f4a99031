import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Runs whose step is calling out, as many of a tenant as its plan says, and those that wait for their turn. */
export class Migration20261122160000_calling_runs extends Migration {
  override name = 'Migration20261122160000_calling_runs';

  override up(): void {
    this.addSql(`create table calling_run (
      run_id uuid primary key,
      organization_id uuid not null,
      environment varchar(4) not null,
      leased_until timestamptz null
    );`);
    this.addSql(`create index calling_run_waiting_index on calling_run (organization_id, environment, run_id)
      where leased_until is null;`);
    this.addSql('create index calling_run_leased_until_index on calling_run (leased_until);');
    this.addSql(`create table calling_total (
      organization_id uuid not null,
      environment varchar(4) not null,
      held int not null,
      waiting int not null,
      is_admitting boolean not null,
      primary key (organization_id, environment)
    );`);
    for (const table of ['calling_run', 'calling_total']) {
      this.addSql(`alter table ${table} add check (environment in ('live', 'test'));`);
      for (const sql of secureTenantTable(table)) this.addSql(sql);
    }
  }
}
