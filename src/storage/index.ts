// What other parts use of the storage: files, their limit and their removal in a statement of another part.

export { StorageFailure, storageAway } from './failure.ts';
export { type FetchOptions, fetchFile } from './fetch-file.ts';
export { fetchImage, imageLimits, imageRefused } from './fetch-image.ts';
export { removedFilesKind, removeFilesSql } from './file-sql.ts';
export type { Files } from './files.ts';
export type { StorageServices } from './part.ts';
export type { Disk, Spooled, StoredFile } from './ports.ts';
export type { SignedUrls } from './signed-urls.ts';
export {
  enforceStorageLimit,
  isStorageFull,
  type Stored,
  storageFullMessage,
  storedBytesSql,
  uncountedBytes,
} from './storage-limit.ts';
export { removeDueFilesOf } from './sweep.ts';
export { isTemporary, unexpectedAttempts } from './temporary.ts';
