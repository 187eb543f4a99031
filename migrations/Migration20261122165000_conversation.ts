import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Messages to models and their replies, and what is known of each while it is under way. */
export class Migration20261122165000_conversation extends Migration {
  override name = 'Migration20261122165000_conversation';

  override up(): void {
    this.addSql(`create table conversation_turn (
      id uuid primary key,
      organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test')),
      kind varchar(5) not null check (kind in ('chat', 'agent')),
      status varchar(10) not null check (status in ('processing', 'completed', 'failed', 'cancelled')),
      model varchar(200) not null,
      has_tools boolean not null,
      request text null,
      tools text null,
      reply text null,
      error jsonb null,
      credits smallint null,
      correlation_id varchar(128) not null,
      created_at timestamptz not null,
      finished_at timestamptz null,
      check (status <> 'processing' or request is not null),
      check (status <> 'completed' or (reply is not null and credits is not null and finished_at is not null))
    );`);
    this.addSql(
      `create index conversation_turn_open_index on conversation_turn (created_at) where status = 'processing';`,
    );
    this.addSql(`create index conversation_turn_created_index on conversation_turn (created_at);`);
    this.addSql(`create table conversation_entry (
      turn_id uuid not null,
      round smallint not null,
      position smallint not null,
      organization_id uuid not null,
      environment varchar(4) not null check (environment in ('live', 'test')),
      attempts smallint not null,
      content text null,
      primary key (turn_id, round, position)
    );`);
    for (const table of ['conversation_turn', 'conversation_entry']) {
      for (const sql of secureTenantTable(table)) this.addSql(sql);
    }
  }
}
