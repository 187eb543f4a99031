import { DatabaseSync } from 'node:sqlite';

/** A lock that is held until it is released or the process ends for any reason. */
export interface KernelLock {
  release(): void;
}

const BUSY = 5;

/** Keeps the handles of open locks: a garbage-collected handle would release its lock. */
const held = new Set<DatabaseSync>();

/**
 * Locks the file at `path`. Returns undefined when another process holds the lock.
 * Node has no flock. SQLite uses locks of the operating system, which cannot outlive their process as a pid file can.
 */
export function tryLock(path: string): KernelLock | undefined {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE');
  } catch (error) {
    database.close();
    if ((error as { errcode?: number }).errcode === BUSY) return undefined;
    throw new Error(`${path} cannot be locked: ${(error as Error).message}`, { cause: error });
  }
  held.add(database);
  return {
    release() {
      if (held.delete(database)) database.close();
    },
  };
}
