import { Scope } from '../../src/platform/database/scope.ts';
import { armFailPoint } from '../../src/platform/parts/fail-points.ts';
import { openProductDatabase } from '../../src/services.ts';
import { failPoint } from '../../src/storage/fail-points.ts';
import { openFiles } from '../storage/open-files.ts';

// Stores a file and records it, as a feature does, and is killed at the given point: at the fail point between the
// two, or from outside while the content, which never ends, is being written.
const [databaseUrl, folder, organizationId, where] = process.argv.slice(2);
const database = await openProductDatabase(databaseUrl!, 5);
const scope = new Scope(database, { organizationId: organizationId!, environment: 'live' }, 'storer');
const { files } = openFiles(database, folder!);

async function* endless(): AsyncGenerator<Uint8Array> {
  for (;;) {
    yield Buffer.alloc(1_000);
    process.send!('writing');
  }
}

if (where !== 'writing') armFailPoint(where, failPoint.names);
const content = where === 'writing' ? endless() : Buffer.from('x');
const file = { kind: 'image', type: 'png', title: 'gen_1', maxBytes: Number.MAX_SAFE_INTEGER, content } as const;
const stored = await files.store(scope, file);
await scope.transaction((tx) => files.record(tx, stored));
