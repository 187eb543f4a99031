import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { runningServers } from '../test/servers.ts';
import { earlierBundles, prepareBundle } from './bundle.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'atelier-bundles-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test('a folder that earlier versions left bundles in gets the present one from the image, without a build', async () => {
  const { version } = await prepareBundle(runningServers().bundles);
  const [volume, image] = [join(folder, 'volume'), join(folder, 'image')];
  await Promise.all([mkdir(volume), mkdir(image)]);
  await writeFile(join(volume, '0123456789abcdef.js'), 'earlier');
  await writeFile(join(image, `${version}.js`), 'shipped');

  const bundle = await prepareBundle(volume, image);
  expect(bundle).toEqual({ version, path: join(volume, `${version}.js`) });
  expect(await readFile(bundle.path, 'utf8')).toBe('shipped');
  expect((await earlierBundles(volume, version)).map((one) => one.version)).toEqual(['0123456789abcdef']);
  // Nothing unfinished is left, and the second start finds it.
  expect(await readdir(volume)).toHaveLength(2);
  await rm(image, { recursive: true });
  expect(await prepareBundle(volume, image)).toEqual(bundle);
});
