import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Chats: messages and their replies. */
export class Migration20261201010000_conversation extends Migration {
  override name = 'Migration20261201010000_conversation';

  override up(): void {
    for (const sql of [
      `create table conversation_entry (
        message_id uuid not null,
        round smallint not null,
        position smallint not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        attempts smallint not null,
        content text,
        primary key (message_id, round, "position")
      );`,
      ...secureTenantTable('conversation_entry'),
      `create table conversation_message (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        kind varchar(5) not null check (kind in ('chat', 'agent')),
        status varchar(10) not null check (status in ('processing', 'completed', 'failed', 'cancelled')),
        model varchar(200) not null,
        has_tools boolean not null,
        request text,
        tools text,
        reply text,
        error jsonb,
        credits smallint,
        correlation_id varchar(128) not null,
        created_at timestamptz not null,
        finished_at timestamptz,
        streamed_text text,
        asked_until timestamptz,
        primary key (id),
        constraint conversation_message_check check (status <> 'processing' or request is not null),
        constraint conversation_message_check1 check (status <> 'completed' or (reply is not null and credits is not null and finished_at is not null))
      );`,
      'create index conversation_message_created_index on conversation_message (created_at);',
      `create index conversation_message_open_index on conversation_message (created_at) where status = 'processing';`,
      `create index conversation_message_tenant_open_index on conversation_message (organization_id, environment) where status = 'processing';`,
      ...secureTenantTable('conversation_message'),
    ]) {
      this.addSql(sql);
    }
  }
}
