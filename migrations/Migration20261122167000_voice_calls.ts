import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Texts to be spoken and recordings to be transcribed, each with what became of it, for a day. */
export class Migration20261122167000_voice_calls extends Migration {
  override name = 'Migration20261122167000_voice_calls';

  override up(): void {
    this.addSql(`create table voice_call (
      id uuid primary key,
      organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test')),
      kind varchar(3) not null check (kind in ('tts', 'stt')),
      status varchar(10) not null check (status in ('processing', 'completed', 'failed', 'cancelled')),
      price smallint not null,
      request text null,
      file varchar(48) null,
      transcript text null,
      error jsonb null,
      submitted_at timestamptz null,
      correlation_id varchar(128) not null,
      created_at timestamptz not null,
      finished_at timestamptz null,
      check (status <> 'processing' or request is not null),
      check (status <> 'completed' or finished_at is not null),
      check (status <> 'completed' or kind <> 'tts' or file is not null),
      check (status <> 'completed' or kind <> 'stt' or transcript is not null)
    );`);
    this.addSql(`create index voice_call_open_index on voice_call (created_at) where status = 'processing';`);
    this.addSql(`create index voice_call_tenant_open_index on voice_call (organization_id, environment)
      where status = 'processing';`);
    this.addSql(`create index voice_call_created_index on voice_call (created_at);`);
    for (const sql of secureTenantTable('voice_call')) this.addSql(sql);
  }
}
