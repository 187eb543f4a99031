import { closeSync, openSync, readSync, statSync } from 'node:fs';

/** Size of a file in bytes, 0 when it does not exist. `lastLines` accepts it as a start position. */
export function fileSize(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

/** The last `count` lines of a log file that were written after byte `from`; an empty list when there are none. */
export function lastLines(path: string, count: number, from = 0): string[] {
  const size = fileSize(path);
  const start = Math.max(from, size - 64 * 1024);
  if (size <= start) return [];
  const file = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(size - start);
    const read = readSync(file, buffer, 0, buffer.length, start);
    return buffer.toString('utf8', 0, read).split('\n').filter(Boolean).slice(-count);
  } finally {
    closeSync(file);
  }
}
