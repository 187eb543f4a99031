import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Files: whose they are, what they are, and when they may be removed. */
export class Migration20261122200000_files extends Migration {
  override name = 'Migration20261122200000_files';

  override up(): void {
    this.addSql(`create table file (
      name varchar(48) primary key,
      organization_id uuid not null,
      environment varchar(4) not null,
      kind varchar(20) not null,
      content_type varchar(40) not null,
      title varchar(60) not null,
      bytes bigint null,
      sha256 bytea null,
      created_at timestamptz not null,
      recorded_at timestamptz null,
      remove_at timestamptz null
    );`);
    this.addSql('create index file_remove_at_index on file (remove_at) where remove_at is not null;');
    this.addSql("alter table file add check (environment in ('live', 'test'));");
    this.addSql('alter table file add check ((recorded_at is null) or (bytes is not null and sha256 is not null));');
    this.addSql('alter table file add check (recorded_at is not null or remove_at is not null);');
    for (const sql of secureTenantTable('file')) this.addSql(sql);
  }
}
