import type { Readable } from 'node:stream';
import type { ByteRange } from './core/byte-range.ts';
import type { FileType } from './core/file-types.ts';

export type Content = Uint8Array | AsyncIterable<Uint8Array>;

/** A file to be stored. */
export interface NewFile {
  /** Its purpose: `image`, `video`, `music`, `output`. For operators. */
  kind: string;
  type: FileType;
  /** Read once, a piece at a time. An error of it is thrown as it is. */
  content: Content;
  /** Larger content is refused. */
  maxBytes: number;
  /** The name under which browsers save it, without an ending: the id of its resource. */
  title: string;
  signal?: AbortSignal;
}

/** A file that is stored and not yet recorded: within a day it must be, or it is removed. */
export interface StoredFile {
  name: string;
  bytes: number;
  sha256: Buffer;
}

/** A recorded file. */
export interface FileRecord {
  name: string;
  organizationId: string;
  contentType: string;
  bytes: number;
  sha256: Buffer;
  title: string;
}

/** A file that is complete on the local disk and has not its final place yet. */
export interface Spooled {
  path: string;
  bytes: number;
  sha256: Buffer;
}

/** Where files are kept. One suite of tests runs against every implementation. */
export interface Disk {
  /** Stores a file under a new name, at once or not at all. It may take the spooled file away. */
  put(name: string, spooled: Spooled): Promise<void>;
  /** Opens a file for reading from `range.first` to `range.last`. @returns undefined when there is no such file */
  open(name: string, range: ByteRange | undefined): Promise<Readable | undefined>;
  /** Removes a file. A file that does not exist is no error. */
  remove(name: string): Promise<void>;
  /** Whether files can be stored, without storing one. @throws Error saying why not */
  check(): Promise<void>;
  close(): void;
}
