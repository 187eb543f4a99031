import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chownSync,
  closeSync,
  existsSync,
  lchownSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import pg from 'pg';
import { lastLines } from '../log-file.ts';
import { isRoot, UNPRIVILEGED } from './postgres-binaries.ts';

/** Superuser, owner and name of the one database. */
export const OWNER = 'atelier';
/** The login of the application. */
export const APPLICATION = 'atelier_app';

interface ProgramRun {
  program: string;
  /** Files and folders that the program needs. `args` receives the paths under which it can reach them. */
  paths: string[];
  args: (...paths: string[]) => string[];
  logFile: string;
}

/**
 * Spawns one of PostgreSQL's programs in a process group of its own, as an unprivileged user, with output to `logFile`.
 * It does not inherit the environment, because PGPORT, PGDATA or LC_ALL would affect it.
 */
export function spawnPostgresProgram({ program, paths, args, logFile }: ProgramRun): ChildProcess {
  // The unprivileged account may not be able to reach the folders, but it can use inherited file descriptors.
  const descriptors = isRoot() && process.platform === 'linux' ? paths.map((path) => openSync(path, 'r')) : [];
  const reachable = descriptors.length > 0 ? descriptors.map((_, index) => `/proc/self/fd/${index + 3}`) : paths;
  const log = openSync(logFile, 'a', 0o600);
  try {
    return spawn(program, args(...reachable), {
      ...(isRoot() ? UNPRIVILEGED : {}),
      cwd: '/',
      env: { LC_ALL: 'C', TZ: 'UTC', PATH: '/usr/local/bin:/usr/bin:/bin' },
      stdio: ['ignore', log, log, ...descriptors],
      detached: true,
    });
  } finally {
    for (const descriptor of [log, ...descriptors]) closeSync(descriptor);
  }
}

/**
 * Creates the cluster in `directory` if there is none: UTF8, locale C.UTF-8, password authentication for all. It is
 * created next to `directory` and renamed, so that a crash leaves no incomplete cluster. Throws with the last log lines
 * if initdb fails.
 */
export async function prepareCluster(
  directory: string,
  options: { initdb: string; password: string; logFile: string; log: (line: string) => void },
): Promise<void> {
  if (existsSync(join(directory, 'PG_VERSION'))) return giveToServer(directory);
  options.log('PostgreSQL: creating the database cluster');
  const fresh = `${directory}.new`;
  const passwordFile = `${directory}.password`;
  rmSync(fresh, { recursive: true, force: true });
  mkdirSync(fresh, { recursive: true, mode: 0o700 });
  giveToServer(fresh);
  writeFileSync(passwordFile, `${options.password}\n`, { mode: 0o600 });
  if (isRoot()) chownSync(passwordFile, UNPRIVILEGED.uid, UNPRIVILEGED.gid);
  try {
    const initdb = spawnPostgresProgram({
      program: options.initdb,
      paths: [fresh, passwordFile],
      args: (data, password) => [
        '-D',
        data ?? fresh,
        '--username',
        OWNER,
        '--auth',
        'scram-sha-256',
        '--pwfile',
        password ?? passwordFile,
        // The built-in provider sorts text equally on all systems; some lack the system locale C.UTF-8.
        '--encoding',
        'UTF8',
        '--locale',
        'C',
        '--locale-provider',
        'builtin',
        '--builtin-locale',
        'C.UTF-8',
      ],
      logFile: options.logFile,
    });
    const [code] = (await once(initdb, 'exit')) as [number | null];
    if (code !== 0) throw new Error(`initdb failed (${code}):\n${lastLines(options.logFile, 15).join('\n')}`);
    // Throws when the path already exists with other content, which must not be removed.
    if (existsSync(directory)) rmdirSync(directory);
    renameSync(fresh, directory);
  } finally {
    rmSync(passwordFile, { force: true });
    rmSync(fresh, { recursive: true, force: true });
  }
}

/**
 * Makes the database if the server does not have it, and proves on the way that the server takes the password.
 * `url` answers the connection string of a database by its name.
 */
export async function ensureDatabase(url: (database: string) => string): Promise<void> {
  try {
    await query(url(OWNER), 'SELECT 1');
  } catch (error) {
    const { code } = error as { code?: string };
    if (code === '28P01') {
      throw new Error('The password in secrets.json is not the password of this PostgreSQL data directory.', {
        cause: error,
      });
    }
    if (code !== '3D000') throw error;
    await query(url('postgres'), `CREATE DATABASE ${OWNER}`);
  }
}

async function query(connectionString: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 10_000 });
  // A connection that is lost fails the query too. Without a listener it would end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

/** Under root the server runs as another user, which must own the data. */
function giveToServer(directory: string): void {
  if (!isRoot() || statSync(directory).uid === UNPRIVILEGED.uid) return;
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    lchownSync(join(entry.parentPath, entry.name), UNPRIVILEGED.uid, UNPRIVILEGED.gid);
  }
  // Last, so that an interrupted change of owner is detected and repeated.
  chownSync(directory, UNPRIVILEGED.uid, UNPRIVILEGED.gid);
}

/** Creates the parent folder of `path`. */
export function prepareParent(path: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
}
