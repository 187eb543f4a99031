import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';

/**
 * Writes a value as JSON that only its owner may read (0600). By rename, so that a reader or a crash
 * meets the old file or the new one, never half of it.
 */
export function writePrivateJson(path: string, value: unknown): void {
  const fresh = `${path}.${process.pid}.new`;
  const file = openSync(fresh, 'w', 0o600);
  try {
    writeSync(file, `${JSON.stringify(value, null, 2)}\n`);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(fresh, path);
}

/** The value in a JSON file, undefined when there is no file. Throws, naming the file, when it is not JSON. */
export function readJson(path: string): unknown {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return JSON.parse(text);
  } catch {
    throw new Error(`${path} is damaged: it is not JSON. Restore it, or remove it to have it made anew.`);
  }
}
