import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Counts of ended runs in blocks of 1000 numbers, and an index of workflows by their state: filtered lists need no scan. */
export class Migration20261122132000_run_blocks extends Migration {
  override name = 'Migration20261122132000_run_blocks';

  override up(): void {
    this.addSql(`create table run_block (
      automation_id uuid not null,
      block int not null,
      organization_id uuid not null,
      environment varchar(4) not null,
      completed int not null,
      failed int not null,
      cancelled int not null,
      primary key (automation_id, block)
    );`);
    this.addSql('alter table run_block add foreign key (automation_id) references automation (id);');
    this.addSql("alter table run_block add check (environment in ('live', 'test'));");
    for (const sql of secureTenantTable('run_block')) this.addSql(sql);
    // One entry for each 1000 runs: where the blocks end.
    this.addSql('create index run_block_end_index on run (automation_id, number) where number % 1000 = 0;');
    this.addSql(`create index automation_state_index on automation (organization_id, environment, state, created_at, id)
      where deleted_at is null;`);
  }
}
