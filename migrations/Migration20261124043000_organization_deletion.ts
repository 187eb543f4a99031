import { Migration } from '@mikro-orm/migrations';

/**
 * Organizations that were deleted: they can be restored for a time, and are then removed with everything that they have. The
 * audit log and the ledger still refuse every other change.
 */
export class Migration20261124043000_organization_deletion extends Migration {
  override name = 'Migration20261124043000_organization_deletion';

  override up(): void {
    this.addSql(
      `alter table organization add column deleted_at timestamptz null, add column purging_at timestamptz null;`,
    );
    this.addSql('grant select (deleted_at) on organization to atelier_tenant;');
    this.addSql('create index organization_deleted_index on organization (deleted_at) where deleted_at is not null;');
    this.addSql('create index file_tenant_index on file (organization_id);');
    this.addSql(`create or replace function refuse_change() returns trigger language plpgsql as $$ begin
      if tg_op = 'DELETE' then
        if exists (select from organization where id = old.organization_id and purging_at is not null) then
          return old;
        end if;
      end if;
      raise exception 'rows of % are never changed or removed', tg_table_name using errcode = 'restrict_violation';
    end $$;`);
    this.addSql('grant delete on audit_log, credit_entry to atelier_system;');
  }
}
