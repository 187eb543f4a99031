import { Migration } from '@mikro-orm/migrations';

/**
 * Appends an entry to an organization's audit log in one round trip. One writer at a time per organization, until the end of
 * its transaction. A volatile function takes a snapshot for each of its statements, so the second sees what the writer
 * before committed while the first waited. It runs with the rights of its caller.
 */
export class Migration20261123171100_append_audit extends Migration {
  override name = 'Migration20261123171100_append_audit';

  override up(): void {
    this.addSql(`create function append_audit(
        organization uuid, first_hash bytea, environment varchar, action varchar, subject uuid, actor varchar,
        correlation varchar, facts jsonb, recorded_at timestamptz, digest bytea, version smallint)
      returns void language plpgsql volatile as $$
    declare
      last_number int;
      last_hash bytea;
    begin
      perform pg_advisory_xact_lock(hashtextextended('audit ' || organization::text, 0));
      select a.number, a.hash into last_number, last_hash from audit_log a
       where a.organization_id = organization order by a.number desc limit 1;
      if not found then
        last_number := 0;
        last_hash := first_hash;
      end if;
      insert into audit_log (organization_id, number, environment, action, subject_id, actor, correlation_id, facts,
                             recorded_at, previous_hash, hash, hash_version)
      values (organization, last_number + 1, environment, action, subject, actor, correlation, facts,
              recorded_at, last_hash, sha256(last_hash || int4send(last_number + 1) || digest), version);
    end $$;`);
  }
}
