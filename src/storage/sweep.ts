import type { Database } from '../platform/database.ts';
import type { Log } from '../platform/log.ts';
import { sqlOn } from '../platform/sql.ts';
import { findRemovable, forgetRemoved, putOff } from './file-sql.ts';
import type { Disk } from './ports.ts';

/**
 * Removes files that are due: orphans, removed ones, and those whose time is over. The file goes before its row, so that a
 * crash in between only repeats the removal. A file that cannot be removed is tried again after all others.
 * @returns the number of removed files; if it equals `limit`, there may be more
 */
export async function removeDueFiles(
  { database, disk, log }: { database: Database; disk: Disk; log: Log },
  limit: number,
  now = new Date(),
): Promise<number> {
  const sql = sqlOn(database.pool);
  const names = (await sql.rows(findRemovable, [now, limit])).map(({ name }) => name);
  const tried = await Promise.allSettled(names.map((name) => disk.remove(name)));
  const failed = names.filter((_, index) => tried[index]!.status === 'rejected');
  const [failure] = tried.filter((one) => one.status === 'rejected');
  if (failure) {
    log.error({ err: failure.reason, files: failed.length }, 'files could not be removed');
    await sql.rows(putOff, [failed, now]);
  }
  const gone = names.filter((name) => !failed.includes(name));
  if (gone.length > 0) await sql.rows(forgetRemoved, [gone, now]);
  return gone.length;
}
