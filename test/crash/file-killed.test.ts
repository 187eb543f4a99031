import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Database } from '../../src/platform/database/database.ts';
import { removeDueFiles } from '../../src/storage/sweep.ts';
import { organizationIds } from '../../src/tenancy/core/ids.ts';
import { createOrganization } from '../../src/tenancy/organizations.ts';
import { openFiles } from '../storage/open-files.ts';
import { createTestDatabase, openTestDatabase, type TestDatabase } from '../test-database.ts';

let created: TestDatabase;
let database: Database;
let organizationId: string;
const folder = mkdtempSync(join(tmpdir(), 'atelier-files-'));
beforeAll(async () => {
  created = await createTestDatabase();
  database = await openTestDatabase(created.url);
  organizationId = organizationIds.parse((await createOrganization(database, { name: 'Killed', plan: 'free' })).id)!;
});
afterAll(async () => {
  await database.close();
  await created.drop();
  rmSync(folder, { recursive: true });
});

const rows = async () => (await database.pool.query('select name, recorded_at from file')).rows;
const onDisk = async (): Promise<string[]> =>
  (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((one) => one.isFile())
    .map(({ name }) => name);

test.each(['writing', 'file.stored'])(
  'killed at %s: nothing is recorded, and the sweep leaves nothing',
  async (where) => {
    const program = fileURLToPath(new URL('./file-storer.ts', import.meta.url));
    const child = fork(program, [created.url, folder, organizationId, where]);
    child.once('message', () => child.kill('SIGKILL'));
    await once(child, 'exit');
    expect(child.signalCode).toBe('SIGKILL');

    const [row] = await rows();
    expect(row.recorded_at).toBeNull();
    expect(await onDisk()).toEqual([row.name]);
    const storage = openFiles(database, folder);
    expect(await removeDueFiles(storage, 10)).toBe(0);
    const tomorrow = new Date(Date.now() + 25 * 3_600_000);
    expect(await removeDueFiles(storage, 10, tomorrow)).toBe(1);
    await storage.spool.sweep(tomorrow);
    expect([await rows(), await onDisk()]).toEqual([[], []]);
  },
);
