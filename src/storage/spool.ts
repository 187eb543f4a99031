import { createHash } from 'node:crypto';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { addAbortSignal, Readable } from 'node:stream';
import { StorageFailure, storageFailure } from './failure.ts';
import type { Content, Spooled } from './ports.ts';

/** Bytes given at once are hashed and written in pieces, so that the event loop is never held for long. */
const pieceBytes = 1024 * 1024;

function* piecesOf(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

/** Measures content while it passes. Its own errors are distinguished from those of the disk. */
class Measured {
  readonly hash = createHash('sha256');
  bytes = 0;
  failure: { error: unknown } | undefined;
  readonly #content: Content;
  readonly #maxBytes: number;

  constructor(content: Content, maxBytes: number) {
    this.#content = content;
    this.#maxBytes = maxBytes;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    const pieces = this.#content instanceof Uint8Array ? piecesOf(this.#content) : this.#content;
    try {
      for await (const piece of pieces) {
        this.bytes += piece.length;
        if (this.bytes > this.#maxBytes) throw new StorageFailure('too_large');
        this.hash.update(piece);
        yield piece;
      }
    } catch (error) {
      this.failure = { error };
      throw error;
    }
  }
}

/** A folder in which files are completed before they get their place in the storage. */
export class Spool {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /**
   * Writes content to a new file, and to the disk itself (fsync). Memory is bounded by the size of one piece.
   * @throws StorageFailure; errors of the content; the reason of `signal`. Nothing is left then
   */
  async write(
    name: string,
    content: Content,
    { maxBytes, signal }: { maxBytes: number; signal?: AbortSignal | undefined },
  ): Promise<Spooled> {
    const path = join(this.#folder, name);
    const measured = new Measured(content, maxBytes);
    try {
      signal?.throwIfAborted();
      // A source that gives nothing more would otherwise be waited for.
      if (signal && content instanceof Readable) addAbortSignal(signal, content);
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      const file = await open(path, 'w', 0o600);
      try {
        await file.writeFile(measured, signal && { signal });
        await file.sync();
      } finally {
        await file.close();
      }
      return { path, bytes: measured.bytes, sha256: measured.hash.digest() };
    } catch (error) {
      if (content instanceof Readable) content.destroy();
      await rm(path, { force: true });
      signal?.throwIfAborted();
      throw measured.failure ? measured.failure.error : storageFailure(error);
    }
  }

  /** Removes a file that is no longer needed. */
  async discard({ path }: Spooled): Promise<void> {
    await rm(path, { force: true });
  }

  /** Removes what killed processes left unfinished. @returns how many files */
  async sweep(olderThan: Date): Promise<number> {
    const names = await readdir(this.#folder).catch(() => [] as string[]);
    let removed = 0;
    for (const name of names) {
      const path = join(this.#folder, name);
      const found = await stat(path).catch(() => undefined);
      if (!found || found.mtime >= olderThan) continue;
      await rm(path, { force: true });
      removed++;
    }
    return removed;
  }
}
