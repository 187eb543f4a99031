import { DatabaseSync } from 'node:sqlite';

/** Held until released or until the process ends, however it ends. */
export interface KernelLock {
  release(): void;
}

const BUSY = 5;

/** A lock whose handle is collected would be let go of; so the open ones are kept here. */
const held = new Set<DatabaseSync>();

/**
 * Takes the lock that the file at `path` stands for, or answers undefined when another process holds it.
 * Node has no flock; SQLite takes an operating system's lock, which (unlike a file with a pid in it) cannot outlive its holder.
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
