import { Migration } from '@mikro-orm/migrations';

/** The content of deliveries can be removed for good, and recoveries can be narrowed. */
export class Migration20261201064100_expunged_content extends Migration {
  override name = 'Migration20261201064100_expunged_content';

  override up(): void {
    for (const sql of [
      'alter table delivery add column content_expunged_at timestamptz;',
      'alter table event add column expunge_requested_at timestamptz;',
      'alter table event add column expunge_waits_for uuid;',
      'alter table event add column content_expunged_at timestamptz;',
      `create index event_expunge_index on event (id)
        where expunge_requested_at is not null and content_expunged_at is null;`,
      `alter table recovery add column window_end timestamptz not null default 'infinity';`,
      'alter table recovery add column event_types jsonb;',
      'alter table recovery add column status_class varchar(5);',
    ]) {
      this.addSql(sql);
    }
  }
}
