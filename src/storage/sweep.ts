import { clock } from '../platform/clock.ts';
import { inBatches } from '../platform/database/batches.ts';
import type { Database } from '../platform/database/database.ts';
import type { Scope } from '../platform/database/scope.ts';
import { sqlOn } from '../platform/database/sql.ts';
import type { Log } from '../platform/observability/log.ts';
import { findRemovable, findRemovableOf, forgetRemoved, putOff } from './file-sql.ts';
import type { Disk } from './ports.ts';

interface SweepServices {
  database: Database;
  disk: Disk;
  log: Log;
}

/**
 * The files are removed before their rows, so that a crash in between only repeats the removal. @returns the names of
 * the removed files
 */
async function remove({ database, disk, log }: SweepServices, names: readonly string[], now: Date): Promise<string[]> {
  const sql = sqlOn(database.pool);
  const tried = await Promise.allSettled(names.map((name) => disk.remove(name)));
  const failed = names.filter((_, index) => tried[index]!.status === 'rejected');
  const [failure] = tried.filter((one) => one.status === 'rejected');
  if (failure) {
    log.error({ err: failure.reason, files: failed.length }, 'files could not be removed');
    await sql.rows(putOff, { failed, now });
  }
  const gone = names.filter((name) => !failed.includes(name));
  if (gone.length > 0) await sql.rows(forgetRemoved, { gone, now });
  return gone;
}

/**
 * Removes files that are due: orphans, removed files, and expired ones. A file that cannot be removed is tried again
 * after all others.
 * @returns the number of removed files; if it equals `limit`, there may be more
 */
export async function removeDueFiles(services: SweepServices, limit: number, now = clock.date()): Promise<number> {
  const due = await sqlOn(services.database.pool).rows(findRemovable, { now, limit });
  const gone = await remove(
    services,
    due.map(({ name }) => name),
    now,
  );
  return gone.length;
}

/** Files that are removed at the same time. */
export const removedTogether = 20;

/** The same for one tenant, right after something that had files was deleted. @returns how many files */
export function removeDueFilesOf(services: SweepServices, scope: Scope): Promise<number> {
  return inBatches(async (limit) => {
    const now = clock.date();
    const due = await scope.rows(findRemovableOf, { now, limit });
    const gone = await remove(
      services,
      due.map(({ name }) => name),
      now,
    );
    return gone.length;
  }, removedTogether);
}
