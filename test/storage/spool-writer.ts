import { readdirSync } from 'node:fs';
import { StorageFailure } from '../../src/storage/failure.ts';
import { Spool } from '../../src/storage/spool.ts';

// Writes a file of 1 MiB to the spool in a folder and reports the result.
const [folder] = process.argv.slice(2) as [string];
const failure = await new Spool(folder).write('large', Buffer.alloc(1024 * 1024), { maxBytes: 1024 * 1024 }).then(
  () => undefined,
  (error: unknown) => error,
);
if (!(failure instanceof StorageFailure)) throw failure;
const { reason, kind, retryAfter } = failure;
console.log(JSON.stringify({ reason, kind, retryAfter, left: readdirSync(folder) }));
