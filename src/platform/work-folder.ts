import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const prefix = 'atelier-work-';

/** No piece of work takes as long: an older folder belonged to a process that was killed. */
const maxWorkMs = 2 * 3_600_000;
const removeEveryMs = 3_600_000;

/** A folder of the local disk for the files of one piece of work. Its opener discards it. */
interface WorkFolder {
  path: string;
  discard(): Promise<void>;
}

/** Removes the folders of killed processes: they contain data of tenants, and fill the disk. */
export async function removeLeftFolders(): Promise<void> {
  const names = await readdir(tmpdir()).catch(() => []);
  for (const name of names.filter((each) => each.startsWith(prefix))) {
    const path = join(tmpdir(), name);
    // Another process may remove it at the same time, or own it.
    const changedAt = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => Infinity,
    );
    if (Date.now() - changedAt > maxWorkMs) await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

let removedAt = -Infinity;

/** @throws errors of the file system */
export async function openWorkFolder(): Promise<WorkFolder> {
  if (performance.now() - removedAt > removeEveryMs) {
    removedAt = performance.now();
    void removeLeftFolders();
  }
  const path = await mkdtemp(join(tmpdir(), prefix));
  return { path, discard: () => rm(path, { recursive: true, force: true }) };
}
