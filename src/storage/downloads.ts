import type { Readable } from 'node:stream';
import { enterAll, MemoryOpenCounter } from '../tenancy/index.ts';
import type { ByteRange } from './core/byte-range.ts';
import { isTooSlow } from './core/pace.ts';
import type { Files } from './files.ts';
import type { FileRecord } from './ports.ts';

/** Files that are read at the same time from one process: by one address, of one organization, and in all. */
export const places = { address: 64, organization: 256, process: 1_000 } as const;
const lookAtPaceMs = 10_000;
/** Readers may come back for the rest, so a draining process does not wait for all of a large file. */
const drainMs = 10_000;

export interface Reader {
  /** The address of the client. */
  address: string;
  /** Ends the connection, so that the client sees that something is missing. */
  abort(): void;
}

/** A file that is being sent to a reader. Only one piece is read ahead of the reader. */
class Download {
  readonly body: ReadableStream<Uint8Array>;
  readonly #stream: Readable;
  readonly #pieces: AsyncIterator<Uint8Array>;
  readonly #reader: Reader;
  readonly #leave: () => void;
  readonly #begun = performance.now();
  #bytes = 0;

  constructor(stream: Readable, reader: Reader, leave: () => void) {
    this.#stream = stream;
    this.#pieces = stream[Symbol.asyncIterator]();
    this.#reader = reader;
    this.#leave = leave;
    this.body = new ReadableStream(this, { highWaterMark: 0 });
  }

  async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      const { done, value } = await this.#pieces.next();
      if (!done) {
        this.#bytes += value.length;
        controller.enqueue(value);
        return;
      }
    } catch {
      // An error of the stream would be written to the client as if it were part of the file.
      this.#reader.abort();
    }
    this.close();
    controller.close();
  }

  cancel(): void {
    this.close();
  }

  /** Gives its place free, once. */
  close(): void {
    this.#stream.destroy();
    this.#leave();
  }

  end(): void {
    this.#reader.abort();
    this.close();
  }

  endIfTooSlow(now: number): void {
    if (isTooSlow({ elapsedMs: now - this.#begun, bytes: this.#bytes })) this.end();
  }
}

/**
 * The files that are being read from this process. Their number is bounded, and each takes bounded memory: one piece and the
 * buffers of its connection. A reader that hardly takes anything loses its place.
 */
export class Downloads {
  readonly #files: Pick<Files, 'open'>;
  readonly #counter = new MemoryOpenCounter();
  readonly #open = new Set<Download>();
  #timer: NodeJS.Timeout | undefined;

  /** @param draining aborted when the process begins to drain */
  constructor(files: Pick<Files, 'open'>, draining: AbortSignal) {
    this.#files = files;
    draining.addEventListener('abort', () => {
      setTimeout(() => this.#each((one) => one.end()), drainMs).unref();
    });
  }

  /** For tests and operators. */
  get count(): number {
    return this.#open.size;
  }

  /**
   * Begins to read a file.
   * @returns its bytes, and `close` to be called when the connection is over, however it ended; undefined when the file
   *   is gone
   * @throws AppError rate_limit_exceeded when too many are being read; StorageFailure
   */
  async open(
    { name, organizationId }: Pick<FileRecord, 'name' | 'organizationId'>,
    range: ByteRange | undefined,
    reader: Reader,
  ): Promise<{ body: ReadableStream<Uint8Array>; close(): void } | undefined> {
    const leave = await enterAll(this.#counter, [
      [`address ${reader.address}`, places.address],
      [`organization ${organizationId}`, places.organization],
      ['process', places.process],
    ]);
    try {
      const stream = await this.#files.open(name, range);
      if (stream) return this.#begin(stream, reader, leave);
    } catch (error) {
      leave();
      throw error;
    }
    leave();
    return undefined;
  }

  #begin(stream: Readable, reader: Reader, leave: () => void): Download {
    // What goes wrong is seen where it is read; after that it has no listener.
    stream.on('error', () => {});
    const download: Download = new Download(stream, reader, () => {
      if (!this.#open.delete(download)) return;
      leave();
      if (this.#open.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    });
    this.#open.add(download);
    this.#timer ??= setInterval(() => {
      const now = performance.now();
      this.#each((one) => one.endIfTooSlow(now));
    }, lookAtPaceMs).unref();
    return download;
  }

  #each(act: (one: Download) => void): void {
    for (const one of [...this.#open]) act(one);
  }
}
