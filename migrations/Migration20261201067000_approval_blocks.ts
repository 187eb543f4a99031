import { Migration } from '@mikro-orm/migrations';
import { secureTenantTable } from './row-level-security.ts';

/** Counts of approvals, so that lists of many need no scan: see src/automation/approvals/approval-blocks.ts. */
export class Migration20261201067000_approval_blocks extends Migration {
  override name = 'Migration20261201067000_approval_blocks';

  override up(): void {
    for (const sql of [
      `create table approval_block (
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        ends_at timestamptz not null,
        ends_id uuid not null,
        automation_id uuid not null,
        pending int not null,
        answered int not null,
        expired int not null,
        cancelled int not null,
        primary key (organization_id, environment, ends_at, ends_id, automation_id)
      );`,
      `create index approval_block_series_index on approval_block
        (organization_id, environment, automation_id, ends_at, ends_id);`,
      `create index approval_block_empty_index on approval_block (organization_id, environment, ends_at, ends_id)
        where pending = 0 and answered = 0 and expired = 0 and cancelled = 0;`,
      ...secureTenantTable('approval_block'),
      `create table approval_change (
        id uuid not null,
        organization_id uuid not null,
        environment varchar(4) not null check (environment in ('live', 'test')),
        automation_id uuid not null,
        created_at timestamptz not null,
        approval_id uuid not null,
        was varchar(9),
        becomes varchar(9),
        is_late boolean not null,
        primary key (id)
      );`,
      `create index approval_change_list_index on approval_change
        (organization_id, environment, created_at, approval_id);`,
      `create index approval_change_end_index on approval_change (organization_id, environment, created_at, approval_id)
        where was is null and get_byte(uuid_send(approval_id), 15) < 2;`,
      'create index approval_change_late_index on approval_change (id) where is_late;',
      ...secureTenantTable('approval_change'),
      `create index approval_automation_list_index on approval
        (organization_id, environment, automation_id, created_at, id);`,
      `create index approval_automation_status_index on approval
        (organization_id, environment, automation_id, status, created_at, id);`,
      `create index automation_deleted_index on automation (organization_id, environment) where deleted_at is not null;`,
      // Every statement that changes approvals is counted, whichever it is. What is created belongs to the latest.
      `create function note_approval_change() returns trigger language plpgsql as $$
        declare
          a approval;
        begin
          if tg_op = 'DELETE' then a := old; else a := new; end if;
          insert into approval_change (id, organization_id, environment, automation_id, created_at, approval_id, was, becomes,
                                       is_late)
          select uuidv7(), a.organization_id, a.environment, a.automation_id, a.created_at, a.id, old.status, new.status,
                 tg_op <> 'INSERT' and exists (
                   select from approval_block b
                    where b.organization_id = a.organization_id and b.environment = a.environment
                      and (b.ends_at, b.ends_id) >= (a.created_at, a.id));
          return null;
        end $$;`,
      `create trigger approval_delete_is_counted after delete on approval for each row
        execute function note_approval_change();`,
      `create trigger approval_insert_is_counted after insert on approval for each row
        execute function note_approval_change();`,
      `create trigger approval_update_is_counted after update of status on approval for each row
        when (old.status is distinct from new.status) execute function note_approval_change();`,
      // The triggers keep others from changing approvals until the commit.
      'set local role atelier_system;',
      `insert into approval_change (id, organization_id, environment, automation_id, created_at, approval_id, becomes, is_late)
       select uuidv7(), organization_id, environment, automation_id, created_at, id, status, false from approval;`,
      'reset role;',
    ]) {
      this.addSql(sql);
    }
  }
}
