import { closeSync, fsyncSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';

/**
 * Writes a value as JSON, readable only by its owner (0600). The file is renamed into place, so that it is never
 * incomplete.
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

/** Reads a JSON file; undefined when it does not exist. Throws an error that names the file when it is not JSON. */
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
    throw new Error(`${path} is damaged: it is not JSON. Restore it, or remove it to create a new one.`);
  }
}
