import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Approvals that steps of runs ask people for, and the links in the mails to them. */
export class Migration20261201029000_approvals extends Migration {
  override name = 'Migration20261201029000_approvals';

  override up(): void {
    for (const sql of [
      `create table approval (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        run_id uuid not null references run on delete cascade,
        path text not null,
        step_id varchar(64) not null,
        automation_id uuid not null,
        message text not null,
        actions json not null,
        form json,
        approvers json not null,
        status varchar(9) not null check (status in ('pending', 'answered', 'expired', 'cancelled')),
        expires_at timestamptz not null,
        remind_at timestamptz,
        response json,
        correlation_id varchar(128) not null,
        created_at timestamptz not null,
        primary key (id),
        constraint approval_run_id_path_unique unique (run_id, path)
      );`,
      'create index approval_list_index on approval (organization_id, environment, created_at, id);',
      'create index approval_status_index on approval (organization_id, environment, status, created_at, id);',
      'create index approval_automation_index on approval (automation_id, created_at, id);',
      `create index approval_reminder_index on approval (remind_at) where status = 'pending' and remind_at is not null;`,
      ...secureTenantTable('approval'),
      `create table approval_link (
        id uuid not null,
        approval_id uuid not null references approval on delete cascade,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        address varchar(320) not null,
        token_hash bytea not null,
        sealed_token text,
        mailed_at timestamptz,
        reminded_at timestamptz,
        primary key (id),
        constraint approval_link_approval_id_address_unique unique (approval_id, address),
        constraint approval_link_token_hash_unique unique (token_hash)
      );`,
      ...secureTenantTable('approval_link'),
      // Whatever stops the step or ends its run, nobody is asked any more. A wait that has an outcome was decided.
      `create function cancel_approval() returns trigger language plpgsql as $$
        begin
          update approval set status = 'cancelled' where id = new.subject_id and status = 'pending';
          return null;
        end $$;`,
      `create trigger approval_is_cancelled after update of state on run_wait for each row
        when (old.state = 'open' and new.state = 'resolved' and new.outcome is null and new.type = 'approval')
        execute function cancel_approval();`,
      // A link that decides nothing any more has no token that could be mailed.
      `create function forget_approval_tokens() returns trigger language plpgsql as $$
        begin
          update approval_link set sealed_token = null where approval_id = new.id and sealed_token is not null;
          return null;
        end $$;`,
      `create trigger approval_tokens_are_forgotten after update of status on approval for each row
        when (old.status = 'pending' and new.status <> 'pending') execute function forget_approval_tokens();`,
    ]) {
      this.addSql(sql);
    }
  }
}
