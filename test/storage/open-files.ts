import { join } from 'node:path';
import type { Database } from '../../src/platform/database/database.ts';
import { openLog } from '../../src/platform/observability/log.ts';
import { Files } from '../../src/storage/files.ts';
import { LocalDisk } from '../../src/storage/local-disk.ts';
import { Spool } from '../../src/storage/spool.ts';

/** The storage of a product whose processes keep their files in this folder, opened in the process of a test. */
export function openFiles(database: Database, folder: string) {
  const options = {
    database,
    disk: new LocalDisk(folder),
    spool: new Spool(join(folder, 'incoming')),
    log: openLog('silent', 'test'),
  };
  return { ...options, files: new Files(options) };
}
