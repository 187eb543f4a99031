import { Migration } from '@mikro-orm/migrations';

/** Definitions of a workflow are numbered, and say who saved them and what changed. */
export class Migration20261201024500_versions extends Migration {
  override name = 'Migration20261201024500_versions';

  override up(): void {
    for (const sql of [
      'alter table definition add column version int, add column created_by varchar(64), add column changes jsonb;',
      'set local role atelier_system;',
      `update definition d set version = n.version
         from (select id, row_number() over (partition by automation_id order by id)::int as version from definition) n
        where n.id = d.id;`,
      'reset role;',
      'create unique index definition_version_index on definition (automation_id, version);',
      // A process of an earlier version, beside which the migration may run, knows no numbers.
      `create function number_definition() returns trigger language plpgsql as $$
        begin
          select coalesce(max(version), 0) + 1 into new.version from definition where automation_id = new.automation_id;
          return new;
        end $$;`,
      `create trigger definition_is_numbered before insert on definition
        for each row when (new.version is null) execute function number_definition();`,
      'alter table definition alter column version set not null;',
      // The unique one begins with the same column.
      'drop index definition_automation_id_index;',
    ]) {
      this.addSql(sql);
    }
  }
}
