import { statement } from '../platform/sql.ts';
import type { FileRecord } from './ports.ts';

/** The outbox entry of a transaction that marked files as removable: they are removed right after its commit. */
export const removedFilesKind = 'file.remove';

/** A file that nobody recorded for this long is an orphan. */
const orphanAfterHours = 24;
/** A transaction that records a file is over by then: the sweep can no longer meet it. */
const recordWithinHours = 23;

export const announce = statement<{ name: string }>(
  'file.announce',
  `insert into file (organization_id, environment, name, kind, content_type, title, created_at, remove_at)
   values ($1, $2, $3, $4, $5, $6, clock_timestamp(), clock_timestamp() + make_interval(hours => ${orphanAfterHours}))
   returning name`,
);

export const markRecorded = statement<{ name: string }>(
  'file.record',
  `update file set bytes = $4, sha256 = $5, recorded_at = clock_timestamp(), remove_at = $6
    where organization_id = $1 and environment = $2 and name = $3 and recorded_at is null
      and created_at > clock_timestamp() - make_interval(hours => ${recordWithinHours})
   returning name`,
);

export const markWithdrawn = statement<{ name: string }>(
  'file.withdraw',
  `update file set remove_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and name = $3 and recorded_at is null
   returning name`,
);

export const markRemovable = statement<{ name: string }>(
  'file.remove',
  `update file set remove_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and name = any($3) and recorded_at is not null
      and (remove_at is null or remove_at > clock_timestamp())
   returning name`,
);

/**
 * For a statement of a feature that deletes what owns files: removes the files that the column `column` of `from` names, as
 * `file.remove` does. Uses the parameters $1 and $2 as every statement of a tenant.
 */
export const removeFilesSql = (from: string, column: string) => `
  update file set remove_at = clock_timestamp()
    where organization_id = $1 and environment = $2 and name in (select ${column} from ${from} where ${column} is not null)
      and recorded_at is not null and (remove_at is null or remove_at > clock_timestamp())`;

/** Whoever holds a signed address may read its file: no tenant is asked for. */
export const findReadable = statement<FileRecord>(
  'file.readable',
  `select name, organization_id as "organizationId", content_type as "contentType", bytes::float8 as bytes, sha256, title
     from file
    where name = $1 and recorded_at is not null and (remove_at is null or remove_at > clock_timestamp())`,
);

export const findRemovable = statement<{ name: string }>(
  'file.removable',
  'select name from file where remove_at <= $1 order by remove_at limit $2',
);

export const findRemovableOf = statement<{ name: string }>(
  'file.removable_of_tenant',
  `select name from file where organization_id = $1 and environment = $2 and remove_at <= $3 order by remove_at limit $4`,
);

export const forgetRemoved = statement<{ name: string }>(
  'file.forget',
  'delete from file where name = any($1) and remove_at <= $2 returning name',
);

/** Behind all others that are due: files that cannot be removed hold up none that can. */
export const putOff = statement(
  'file.put_off',
  'update file set remove_at = clock_timestamp() where name = any($1) and remove_at <= $2',
);
