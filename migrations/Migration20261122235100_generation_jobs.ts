import { Migration } from '@mikro-orm/migrations';

/** Generations that a provider works on for minutes: how far they are, and what they are called there. */
export class Migration20261122235100_generation_jobs extends Migration {
  override name = 'Migration20261122235100_generation_jobs';

  override up(): void {
    this.addSql(`alter table generation
      add column expected_ms int null,
      add column progress smallint null,
      add column submitted_at timestamptz null,
      add column upstream_id varchar(200) null;`);
  }
}
