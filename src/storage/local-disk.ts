import { constants } from 'node:fs';
import { access, mkdir, open, rename, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { ByteRange } from './core/byte-range.ts';
import type { Disk, Spooled } from './ports.ts';

/** With less space than this a disk counts as full: no large file could be stored. */
const minFreeBytes = 16 * 1024 * 1024;

/**
 * Files on a local disk, or on a volume that every process of the installation mounts. The driver that buckets use has one
 * for disks too; it writes in place without a sync, reads no ranges, and costs each process 14 MB.
 */
export class LocalDisk implements Disk {
  readonly #folder: string;

  /** @param folder on the same volume as the spool: a rename is what makes `put` atomic */
  constructor(folder: string) {
    this.#folder = folder;
  }

  async put(name: string, { path }: Spooled): Promise<void> {
    const folder = join(this.#folder, folderOf(name));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    await rename(path, join(folder, name));
    await syncFolder(folder);
  }

  async open(name: string, range: ByteRange | undefined): Promise<Readable | undefined> {
    try {
      const file = await open(join(this.#folder, keyOf(name)));
      return file.createReadStream(range && { start: range.first, end: range.last });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    }
  }

  async remove(name: string): Promise<void> {
    await rm(join(this.#folder, keyOf(name)), { force: true });
  }

  async check(): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await access(this.#folder, constants.W_OK);
    const { bavail, bsize } = await statfs(this.#folder);
    if (bavail * bsize < minFreeBytes) throw new Error('No space is left for files.');
  }

  close(): void {}
}

/** Names are random: their first two characters spread them over 4096 folders. */
const folderOf = (name: string) => name.slice(0, 2);
const keyOf = (name: string) => `${folderOf(name)}/${name}`;

/** Makes the new name durable. Some file systems cannot, and those need not. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(path).catch(() => undefined);
  await folder?.sync().catch(() => {});
  await folder?.close();
}
