import { statement, systemStatement } from '../platform/database/sql.ts';

/** The outbox entry of a transaction that marked files as removable: they are removed right after its commit. */
export const removedFilesKind = 'file.remove';

/** A file that was not recorded for this long is an orphan. */
const orphanAfterHours = 24;
/** A transaction that records a file is over by then: the sweep can no longer meet it. */
const recordWithinHours = 23;

export const announce = statement({
  name: 'file.announce',
  parameters: { name: 'text', kind: 'text', contentType: 'text', title: 'text' },
  row: { name: 'text' },
  text: `insert into file (organization_id, environment, name, kind, content_type, title, created_at, remove_at)
   values (:organizationId, :environment, :name, :kind, :contentType, :title, atelier_now(),
     atelier_now() + make_interval(hours => ${orphanAfterHours}))
   returning name`,
});

export const markRecorded = statement({
  name: 'file.record',
  parameters: { name: 'text', bytes: 'bigint', sha256: 'bytea', until: 'timestamptz?' },
  row: { name: 'text' },
  text: `update file set bytes = :bytes, sha256 = :sha256, recorded_at = atelier_now(), remove_at = :until
    where organization_id = :organizationId and environment = :environment and name = :name and recorded_at is null
      and created_at > atelier_now() - make_interval(hours => ${recordWithinHours})
   returning name`,
});

export const markWithdrawn = statement({
  name: 'file.withdraw',
  parameters: { name: 'text' },
  row: { name: 'text' },
  text: `update file set remove_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and name = :name and recorded_at is null
   returning name`,
});

export const markRemovable = statement({
  name: 'file.remove',
  parameters: { names: 'text[]' },
  row: { name: 'text' },
  text: `update file set remove_at = atelier_now()
    where organization_id = :organizationId and environment = :environment and name = any(:names)
      and recorded_at is not null
      and (remove_at is null or remove_at > atelier_now())
   returning name`,
});

/**
 * For a statement of a feature that deletes what owns files: removes the files that the column `column` of `from` names, as
 * `file.remove` does.
 */
export const removeFilesSql = (from: string, column: string) => `
  update file set remove_at = atelier_now()
    where organization_id = :organizationId and environment = :environment
      and name in (select ${column} from ${from} where ${column} is not null)
      and recorded_at is not null and (remove_at is null or remove_at > atelier_now())`;

/** A holder of a signed address may read its file: no tenant is needed. */
export const findReadable = systemStatement({
  name: 'file.readable',
  parameters: { name: 'text' },
  row: { name: 'text', organizationId: 'uuid', contentType: 'text', bytes: 'float8', sha256: 'bytea', title: 'text' },
  text: `select name, organization_id as "organizationId", content_type as "contentType", bytes::float8 as bytes,
    sha256, title
     from file
    where name = :name and recorded_at is not null and (remove_at is null or remove_at > atelier_now())`,
});

export const findRemovable = systemStatement({
  name: 'file.removable',
  parameters: { now: 'timestamptz', limit: 'int' },
  row: { name: 'text' },
  text: 'select name from file where remove_at <= :now order by remove_at limit :limit',
});

export const findRemovableOf = statement({
  name: 'file.removable_of_tenant',
  parameters: { now: 'timestamptz', limit: 'int' },
  row: { name: 'text' },
  text: `select name from file where organization_id = :organizationId and environment = :environment
    and remove_at <= :now order by remove_at limit :limit`,
});

export const forgetRemoved = systemStatement({
  name: 'file.forget',
  parameters: { gone: 'text[]', now: 'timestamptz' },
  row: { name: 'text' },
  text: 'delete from file where name = any(:gone) and remove_at <= :now returning name',
});

/** Behind all others that are due: files that cannot be removed hold up none that can. */
export const putOff = systemStatement({
  name: 'file.put_off',
  parameters: { failed: 'text[]', now: 'timestamptz' },
  text: 'update file set remove_at = atelier_now() where name = any(:failed) and remove_at <= :now',
});
