import { existsSync } from 'node:fs';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { openWorkFolder, removeLeftFolders } from './work-folder.ts';

test('a folder is removed by its owner, and by any process once the owner must have ended', async () => {
  const [discarded, left, inUse] = [await openWorkFolder(), await openWorkFolder(), await openWorkFolder()];
  for (const { path } of [discarded, left, inUse]) await writeFile(join(path, 'recording.mp3'), 'sound');
  await discarded.discard();
  const threeHoursAgo = new Date(Date.now() - 3 * 3_600_000);
  await utimes(left.path, threeHoursAgo, threeHoursAgo);
  await removeLeftFolders();
  expect([discarded, left, inUse].map(({ path }) => existsSync(path))).toEqual([false, false, true]);
  await inUse.discard();
});
