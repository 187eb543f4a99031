import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { openLog } from '../src/platform/observability/log.ts';
import { serveEarlierVersion } from './earlier-versions.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'atelier-earlier-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const serve = (path: string) =>
  serveEarlierVersion(
    { version: '0123456789abcdef', path },
    {
      countOpen: async () => 0,
      startWorker: () => Promise.reject(new Error('It has no open runs.')),
      log: openLog('fatal', 'test'),
      stopping: new AbortController().signal,
      lookEveryMs: 1,
    },
  );

test('the bundle of a version without open runs is removed', async () => {
  const path = join(folder, '0123456789abcdef.js');
  await writeFile(path, 'earlier');
  await serve(path);
  expect(existsSync(path)).toBe(false);
});

test('a bundle that cannot be removed stays, and its worker goes on', async () => {
  // A folder, which is not removed as a file is.
  await serve(folder);
  expect(existsSync(folder)).toBe(true);
});
