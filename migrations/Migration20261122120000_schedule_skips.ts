import { Migration } from '@mikro-orm/migrations';

/** Why a schedule started no run at one of its times, and an index by which an organization's schedules are counted. */
export class Migration20261122120000_schedule_skips extends Migration {
  override name = 'Migration20261122120000_schedule_skips';

  override up(): void {
    this.addSql(`alter table automation_schedule add column last_skipped_at timestamptz null,
      add column last_skipped_reason varchar(60) null;`);
    this.addSql(
      'create index automation_schedule_organization_id_environment_index on automation_schedule (organization_id, environment);',
    );
  }
}
