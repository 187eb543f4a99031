import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import type { Database } from '../platform/database/database.ts';
import { type Scope, Transaction } from '../platform/database/scope.ts';
import { sqlOn } from '../platform/database/sql.ts';
import type { Log } from '../platform/observability/log.ts';
import type { ByteRange } from './core/byte-range.ts';
import { contentTypes, type FileType, typeOf } from './core/file-types.ts';
import { failPoint } from './fail-points.ts';
import { StorageFailure, type StorageFailureReason, storageFailure } from './failure.ts';
import { announce, findReadable, markRecorded, markRemovable, markWithdrawn } from './file-sql.ts';
import type { Content, Disk, FileRecord, NewFile, Spooled, StoredFile } from './ports.ts';
import type { Spool } from './spool.ts';

const titlePattern = /^[A-Za-z0-9_-]{1,60}$/;

const randomName = (type: FileType) => `${randomBytes(32).toString('base64url')}.${type}`;

/** An error of content that is not read yet is thrown once it is read. Without a listener it would end the process. */
function keepErrors(content: Content): void {
  if (content instanceof Readable) content.on('error', () => {});
}

interface FilesOptions {
  database: Database;
  disk: Disk;
  spool: Spool;
  log: Log;
  /** Counts what went wrong, by its reason. */
  countFailure?(reason: StorageFailureReason): void;
}

/**
 * The files of all features. Storing one has two halves: `store` before the transaction that owns it, `record` in it. A
 * crash in between leaves an orphan, which the sweep removes after a day, and never a record without its file.
 */
export class Files {
  readonly #options: FilesOptions;

  constructor(options: FilesOptions) {
    this.#options = options;
  }

  /**
   * Stores a file under a new random name: complete and on the disk, or not at all. Not to be called in a transaction.
   * Memory is bounded by the pieces of the content, whatever its length.
   * @throws StorageFailure; errors of the content; the reason of the file's `signal`
   */
  async store(scope: Scope, { kind, type, title, content, maxBytes, signal }: NewFile): Promise<StoredFile> {
    if (scope instanceof Transaction) throw new Error('A file cannot be stored in a transaction, which may roll back.');
    if (!titlePattern.test(title)) throw new Error('The title of a file consists of letters, digits, _ and -.');
    keepErrors(content);
    const name = randomName(type);
    try {
      await scope.one(announce, { name, kind, contentType: contentTypes[type], title });
    } catch (error) {
      // Nobody reads it, and what it reads from would stay open.
      if (content instanceof Readable) content.destroy();
      throw error;
    }
    return this.#place(name, await this.#spool(name, content, { maxBytes, signal }));
  }

  /**
   * Writes content to a file of the local disk, for examination before it is stored: pass it to `keep` or to `discard`.
   * The sweep removes the file of a killed process.
   * @throws StorageFailure; errors of the content; the reason of `signal`. Nothing is left then
   */
  receive(content: Content, limits: { maxBytes: number; signal?: AbortSignal | undefined }): Promise<Spooled> {
    keepErrors(content);
    return this.#spool(randomName('bin'), content, limits);
  }

  /** Stores a received file as `store` does, and takes it away from the local disk. */
  async keep(
    scope: Scope,
    received: Spooled,
    { kind, type, title }: Pick<NewFile, 'kind' | 'type' | 'title'>,
  ): Promise<StoredFile> {
    const name = randomName(type);
    await scope.one(announce, { name, kind, contentType: contentTypes[type], title });
    return this.#place(name, received);
  }

  /** Removes a received file. Harmless when it was kept. */
  discard(received: Spooled): Promise<void> {
    return this.#options.spool.discard(received);
  }

  /** Has a stored file removed that will not be recorded after all, before its day is over. */
  async withdraw(scope: Scope, { name }: StoredFile): Promise<void> {
    await scope.rows(markWithdrawn, { name });
  }

  #spool(name: string, content: Content, limits: { maxBytes: number; signal?: AbortSignal | undefined }) {
    return this.#reported(() => this.#options.spool.write(name, content, limits));
  }

  /** Gives a file of the local disk its place. */
  async #place(name: string, spooled: Spooled): Promise<StoredFile> {
    const { disk, spool } = this.#options;
    try {
      await this.#reported(() =>
        disk.put(name, spooled).catch((error: unknown) => Promise.reject(storageFailure(error))),
      );
    } finally {
      await spool.discard(spooled);
    }
    failPoint('file.stored');
    return { name, bytes: spooled.bytes, sha256: spooled.sha256 };
  }

  /**
   * Makes a stored file readable, in the transaction that owns it.
   * @param until when it is removed; without it the file is kept until `remove`
   * @throws Error when it was recorded before, or stored too long ago
   */
  async record(tx: Transaction, { name, bytes, sha256 }: StoredFile, until: Date | null = null): Promise<void> {
    const recorded = await tx.one(markRecorded, { name, bytes, sha256, until });
    if (!recorded) throw new Error('The file was recorded before, or stored more than 23 hours ago.');
  }

  /** Makes recorded files of the tenant unreadable once this is committed. The sweep removes them soon after. */
  async remove(scope: Scope, names: readonly string[]): Promise<void> {
    await scope.rows(markRemovable, { names });
  }

  /** The record of a file, whosever it is: only for a name that came with a good signature. */
  find(name: string): Promise<FileRecord | undefined> {
    return sqlOn(this.#options.database.pool).one(findReadable, { name });
  }

  /**
   * Opens a file that was found.
   * @returns a stream to be read to its end or destroyed; undefined when the file itself is gone
   * @throws StorageFailure
   */
  open(name: string, range?: ByteRange): Promise<Readable | undefined> {
    return this.#reported(() =>
      this.#options.disk.open(name, range).catch((error: unknown) => Promise.reject(storageFailure(error))),
    );
  }

  /** Writes a stored file to a new file of the local disk. @throws StorageFailure, also if it was removed */
  async copyTo(name: string, path: string): Promise<void> {
    const stream = await this.open(name);
    await this.#reported(async () => {
      if (!stream) throw new StorageFailure('unavailable', new Error('The file is gone.'));
      const copied = pipeline(stream, createWriteStream(path, { flags: 'wx', mode: 0o600 }));
      await copied.catch((error: unknown) => Promise.reject(storageFailure(error)));
    });
  }

  /**
   * Reads a stored file into memory: for files that are known to be small.
   * @returns undefined when the file itself is gone
   * @throws StorageFailure
   */
  async read(name: string): Promise<Buffer | undefined> {
    const stream = await this.open(name);
    return (
      stream && this.#reported(() => buffer(stream).catch((error: unknown) => Promise.reject(storageFailure(error))))
    );
  }

  /** Logs the cause: callers learn that the storage failed, and not why. */
  async #reported<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof StorageFailure && error.reason !== 'too_large') {
        const { reason, cause } = error;
        this.#options.log.error({ err: cause, reason }, 'the file storage failed');
        this.#options.countFailure?.(reason);
      }
      throw error;
    }
  }
}

/** `gen_….png`, as browsers save it. */
export const downloadName = ({ name, title }: FileRecord): string => `${title}.${typeOf(name)}`;
