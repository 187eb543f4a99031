import { Migration } from '@mikro-orm/migrations';

/** An entry of the audit log has the request that asked for it and the client's address. */
export class Migration20261201064000_audit_origin extends Migration {
  override name = 'Migration20261201064000_audit_origin';

  override up(): void {
    for (const sql of [
      'alter table audit_log add column request_id varchar(36), add column ip varchar(45);',
      // Beside the function without the two, which processes of the version before call.
      `create function append_audit(organization uuid, first_hash bytea, environment character varying, action character varying, subject uuid, actor character varying, correlation character varying, facts jsonb, recorded_at timestamp with time zone, digest bytea, version smallint, request character varying, address character varying)
       returns void language plpgsql as $$
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
                               recorded_at, previous_hash, hash, hash_version, request_id, ip)
        values (organization, last_number + 1, environment, action, subject, actor, correlation, facts,
                recorded_at, last_hash, sha256(last_hash || int4send(last_number + 1) || digest), version, request, address);
      end $$;`,
    ]) {
      this.addSql(sql);
    }
  }
}
