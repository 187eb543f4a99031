import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** When workflows run by themselves. */
export class Migration20261121070000_schedules extends Migration {
  override name = 'Migration20261121070000_schedules';

  override up(): void {
    this.addSql(`create table automation_schedule (
      automation_id uuid not null,
      organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test')),
      cron varchar(200) not null,
      timezone varchar(64) not null,
      paused boolean not null,
      input jsonb null,
      variables jsonb not null,
      revision uuid not null,
      last_run_at timestamptz null,
      created_at timestamptz not null,
      updated_at timestamptz not null,
      primary key (automation_id)
    );`);
    this.addSql('alter table automation_schedule add foreign key (automation_id) references automation (id);');
    for (const sql of secureTenantTable('automation_schedule')) this.addSql(sql);
  }
}
