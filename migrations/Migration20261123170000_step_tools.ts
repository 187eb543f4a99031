import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Steps that use tools: what their models asked for, and the calls with their results. */
export class Migration20261123170000_step_tools extends Migration {
  override name = 'Migration20261123170000_step_tools';

  override up(): void {
    this.addSql('alter table run_step add column rounds smallint not null default 0;');
    this.addSql(`create table run_step_round (
      run_id uuid not null,
      position integer not null,
      round smallint not null,
      organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test')),
      content text not null,
      primary key (run_id, position, round)
    );`);
    this.addSql(`create table run_step_call (
      run_id uuid not null,
      position integer not null,
      round smallint not null,
      call smallint not null,
      organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test')),
      name varchar(64) not null,
      args text null,
      attempts smallint not null,
      result text null,
      is_error boolean null,
      primary key (run_id, position, round, call)
    );`);
    for (const table of ['run_step_round', 'run_step_call']) {
      for (const sql of secureTenantTable(table)) this.addSql(sql);
    }
  }
}
