import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, glob, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));

/** Everything that workflow code can import, and the SDK that turns it into a bundle. */
const sources = ['workflows/**/*.ts', 'src/*/core/**/*.ts', 'src/temporal/contracts/*.ts', 'workers/build-bundle.ts'];
const sdkManifest = 'node_modules/@temporalio/workflow/package.json';
/** Where an image has the bundle of its own sources. The folder that a worker reads may be a volume. */
const shippedFolder = join(root, 'bundles');

/** The workflow code of one version, built ahead: a worker that loads it starts in a fifth of the time. */
export interface Bundle {
  /** 16 hex digits of a hash over its sources: the worker's build id. */
  version: string;
  path: string;
}

async function contentVersion(): Promise<string> {
  const files: string[] = [];
  for await (const file of glob(sources, { cwd: root, exclude: ['**/*.test.ts'] })) files.push(file);
  const hash = createHash('sha256');
  for (const file of [...files.sort(), sdkManifest]) hash.update(file).update(await readFile(join(root, file)));
  return hash.digest('hex').slice(0, 16);
}

const bundlePath = (directory: string, version: string) => join(resolve(directory), `${version}.js`);

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

/**
 * The bundle of the present sources: copied from where the image has it, or else built, when it is not in the folder yet.
 * The build runs in a process of its own, so that webpack's memory ends with it; processes that do this at once each write
 * a file of their own and the last rename wins.
 */
export async function prepareBundle(directory: string, shipped = shippedFolder): Promise<Bundle> {
  const version = await contentVersion();
  const path = bundlePath(directory, version);
  if (await exists(path)) return { version, path };
  await mkdir(directory, { recursive: true });
  const unfinished = `${path}.${process.pid}.tmp`;
  try {
    if (await exists(bundlePath(shipped, version))) await copyFile(bundlePath(shipped, version), unfinished);
    else await build(unfinished);
    await rename(unfinished, path);
  } finally {
    await rm(unfinished, { force: true });
  }
  return { version, path };
}

async function build(target: string): Promise<void> {
  const script = join(root, 'workers/build-bundle.ts');
  await promisify(execFile)(process.execPath, [script, target], { cwd: root });
}

/** Bundles that earlier versions left in the folder: runs that began with one of them end with it. */
export async function earlierBundles(directory: string, current: string): Promise<Bundle[]> {
  const names = await readdir(directory);
  return names
    .filter((name) => /^[0-9a-f]{16}\.js$/.test(name) && name !== `${current}.js`)
    .map((name) => ({ version: name.slice(0, 16), path: join(resolve(directory), name) }));
}

/** For a version that no run needs any more. */
export const removeBundle = (bundle: Bundle): Promise<void> => rm(bundle.path, { force: true });
