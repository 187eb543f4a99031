import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFile, mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { bundleSources } from './bundle-sources.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The sources of the bundle: the workflows, their interceptors and the program that builds it. */
const entries = ['workflows/index.ts', 'workflows/trace.ts', 'workers/build-bundle.ts'];
/** Where an image has the bundle of its own sources. The folder that a worker reads may be a volume. */
const shippedFolder = join(root, 'bundles');

/** The workflow code of one version, built beforehand: a worker that loads it starts in a fifth of the time. */
export interface Bundle {
  /** The worker's build id: 16 hex digits. */
  version: string;
  path: string;
}

/**
 * The version of the sources in a folder: a hash over the modules that workflows reach and over the SDK's version. Editing
 * anything else keeps the version.
 */
export async function versionOf(sources: string): Promise<string> {
  const hash = createHash('sha256');
  for (const file of await bundleSources(sources, entries)) {
    hash.update(file).update(await readFile(join(sources, file)));
  }
  return hash.digest('hex').slice(0, 16);
}

const bundlePath = (directory: string, version: string) => join(resolve(directory), `${version}.js`);

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  );

/**
 * The bundle of the present sources: copied from where the image has it, or else built, when the folder does not have it yet.
 * The build runs in a process of its own, so that webpack's memory is released with it. Processes that do this at the same
 * time each write their own file, and the last rename wins.
 * @throws Error also when `stopping` is aborted before the end of a build
 */
export async function prepareBundle(
  directory: string,
  shipped = shippedFolder,
  stopping?: AbortSignal,
): Promise<Bundle> {
  const version = await versionOf(root);
  const path = bundlePath(directory, version);
  if (await exists(path)) return { version, path };
  await mkdir(directory, { recursive: true });
  const unfinished = `${path}.${process.pid}.tmp`;
  try {
    if (await exists(bundlePath(shipped, version))) await copyFile(bundlePath(shipped, version), unfinished);
    else await build(unfinished, stopping);
    await rename(unfinished, path);
  } finally {
    await rm(unfinished, { force: true });
  }
  return { version, path };
}

/** Also when it is stopped, it waits for the end of its process, which may still write. */
async function build(target: string, stopping?: AbortSignal): Promise<void> {
  stopping?.throwIfAborted();
  const script = join(root, 'workers/build-bundle.ts');
  const building = promisify(execFile)(process.execPath, [script, target], { cwd: root });
  const kill = () => building.child.kill();
  stopping?.addEventListener('abort', kill);
  try {
    await building;
  } finally {
    stopping?.removeEventListener('abort', kill);
  }
}

/** Bundles of earlier versions in the folder: runs that began with one of them end with it. */
export async function earlierBundles(directory: string, current: string): Promise<Bundle[]> {
  const names = await readdir(directory);
  return names
    .filter((name) => /^[0-9a-f]{16}\.js$/.test(name) && name !== `${current}.js`)
    .map((name) => ({ version: name.slice(0, 16), path: join(resolve(directory), name) }));
}

/** For a version that no run needs any longer. */
export const removeBundle = (bundle: Bundle): Promise<void> => rm(bundle.path, { force: true });
