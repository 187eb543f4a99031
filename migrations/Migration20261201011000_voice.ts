import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Voice calls. */
export class Migration20261201011000_voice extends Migration {
  override name = 'Migration20261201011000_voice';

  override up(): void {
    for (const sql of [
      `create table voice_call (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        kind varchar(3) not null check (kind in ('tts', 'stt')),
        status varchar(10) not null check (status in ('processing', 'completed', 'failed', 'cancelled')),
        price smallint not null,
        request text,
        file varchar(48),
        transcript text,
        error jsonb,
        submitted_at timestamptz,
        correlation_id varchar(128) not null,
        created_at timestamptz not null,
        finished_at timestamptz,
        primary key (id),
        constraint voice_call_check check (status <> 'processing' or request is not null),
        constraint voice_call_check1 check (status <> 'completed' or finished_at is not null),
        constraint voice_call_check2 check (status <> 'completed' or kind <> 'tts' or file is not null),
        constraint voice_call_check3 check (status <> 'completed' or kind <> 'stt' or transcript is not null)
      );`,
      'create index voice_call_created_index on voice_call (created_at);',
      `create index voice_call_open_index on voice_call (created_at) where status = 'processing';`,
      `create index voice_call_tenant_open_index on voice_call (organization_id, environment) where status = 'processing';`,
      ...secureTenantTable('voice_call'),
    ]) {
      this.addSql(sql);
    }
  }
}
