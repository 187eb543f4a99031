import type { Foundation } from '../foundation.ts';
import { inBatches } from '../platform/database/batches.ts';
import type { Part } from '../platform/parts/part.ts';
import { storageDeclarations } from './declarations.ts';
import { Downloads } from './downloads.ts';
import { File, StorageUsed, storageSlots } from './entities.ts';
import { failPoint } from './fail-points.ts';
import { removedFilesKind } from './file-sql.ts';
import { Files } from './files.ts';
import { storageGauges } from './gauges.ts';
import type { Disk } from './ports.ts';
import { bucketSettings, folders, type StorageEnv, storageSettings } from './settings.ts';
import { SignedUrls } from './signed-urls.ts';
import { Spool } from './spool.ts';
import { removeDueFiles, removeDueFilesOf, removedTogether } from './sweep.ts';

const hourMs = 3_600_000;
/** A file that a process began this long ago is no longer being written. */
const unfinishedAfterMs = 24 * hourMs;

export interface StorageServices {
  files: Files;
  signedUrls: SignedUrls;
  downloads: Downloads;
  disk: Disk;
  spool: Spool;
}

// Loaded when they are chosen: the SDK of S3 takes a quarter of a second.
async function openDisk(env: StorageEnv): Promise<Disk> {
  if (env.STORAGE_DRIVER === 's3') {
    const settings = bucketSettings(env);
    const { S3Bucket } = await import('./s3-bucket.ts');
    return new S3Bucket(settings);
  }
  const { LocalDisk } = await import('./local-disk.ts');
  return new LocalDisk(folders(env).files);
}

/** Files that features keep and callers read at signed addresses. */
export const storage: Part<Foundation, StorageServices, typeof storageSettings.shape> = {
  ...storageDeclarations,
  entities: [File, StorageUsed],
  rowBounds: {
    file: {
      max: { plan: 'storageBytes' },
      retention: { by: 'remove files that are not needed', after: 'its owner is removed' },
      purge: 'by the part',
    },
    storage_used: { max: { rows: storageSlots, of: 'environment' } },
  },
  settings: storageSettings,
  failPoints: failPoint.names,
  async open({ env, database, log, draining, metrics }) {
    const count = metrics.counter({
      name: 'atelier_storage_failures_total',
      help: 'Files that this process could not store or read, by the reason.',
      labelNames: ['reason'],
      initial: ['full', 'missing', 'unavailable'].map((reason) => ({ reason })),
    });
    const [disk, spool] = [await openDisk(env), new Spool(folders(env).spool)];
    const files = new Files({ database, disk, spool, log, countFailure: (reason) => count({ reason }) });
    return {
      disk,
      spool,
      files,
      downloads: new Downloads(files, draining.signal),
      signedUrls: new SignedUrls({
        key: env.URL_SIGNING_KEY,
        baseUrl: env.STORAGE_URL ?? env.PUBLIC_URL,
        seconds: env.STORAGE_URL_SECONDS,
      }),
    };
  },
  close({ disk }) {
    disk.close();
  },
  outbox: ({ database, disk, log }) => ({
    [removedFilesKind]: async (scope) => void (await removeDueFilesOf({ database, disk, log }, scope)),
  }),
  gauges: ({ observer }) => storageGauges(observer),
  sweeps: ({ database, disk, log, spool }) => [
    {
      name: 'remove files that are not needed',
      everyMs: 60_000,
      run: () => inBatches((limit) => removeDueFiles({ database, disk, log }, limit), removedTogether),
    },
    {
      name: 'remove files that were left unfinished',
      everyMs: hourMs,
      run: () => spool.sweep(new Date(Date.now() - unfinishedAfterMs)),
    },
  ],
};
