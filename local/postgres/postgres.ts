import type { ChildProcess } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { type BackgroundChild, followInBackground } from '../background-child.ts';
import { fileSize, lastLines } from '../log-file.ts';
import { findPostgresBinaries } from './postgres-binaries.ts';
import {
  APPLICATION,
  ensureDatabase,
  OWNER,
  prepareCluster,
  prepareParent,
  spawnPostgresProgram,
} from './postgres-cluster.ts';
import { FAST_SHUTDOWN, HASTY_SHUTDOWN, readPostmasterFile, stopOrphan } from './postgres-orphan.ts';

interface PostgresOptions {
  /** Created if it does not exist. */
  dataDirectory: string;
  port: number;
  /** Password of the user `atelier`, with which the cluster was created. */
  password: string;
  /** Output of the server. Default: the path of the data directory with `.log`. */
  logFile?: string;
  /** Receives progress messages. */
  log?: (line: string) => void;
  /** Additional server settings, as in postgresql.conf. */
  settings?: Record<string, string>;
}

export interface RunningPostgres {
  port: number;
  pid: number;
  logFile: string;
  /** Connection string of a database on this server, for the superuser `atelier`. */
  url(database: string): string;
  /** The same for the login `atelier_app`, which migrations make. */
  applicationUrl(database: string, password: string): string;
  /** Resolves when the server has ended, for any reason. */
  ended: Promise<void>;
  /** Fast shutdown (open transactions roll back), forced after 20 s; with `hasty`, after 3 s. */
  stop(options?: { hasty?: boolean }): Promise<void>;
}

/** After a crash the old server's processes can use its shared memory for some seconds. */
const STILL_ENDING: readonly [string, string][] = [
  ['lock file ', ' already exists'],
  ['shared memory block ', ' in use'],
];
const isStillEnding = (output: string): boolean =>
  output.split('\n').some((line) => STILL_ENDING.some((parts) => parts.every((part) => line.includes(part))));
const RETRY_MS = 20_000;
/** Long enough for the recovery after a crash. */
const READY_MS = 60_000;

/**
 * Starts PostgreSQL on 127.0.0.1 with the user and database `atelier`, also after a crash.
 * Throws an error with the server's last log lines when it does not become ready.
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const { dataDirectory, port, password, log = () => {} } = options;
  const logFile = options.logFile ?? `${dataDirectory}.log`;
  prepareParent(dataDirectory);
  prepareParent(logFile);
  const { initdb, postgres } = await findPostgresBinaries(log);
  await prepareCluster(dataDirectory, { initdb, password, logFile, log });
  await stopOrphan(dataDirectory, log);

  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: '200',
    ...options.settings,
  };
  const server = await startUntilReady(dataDirectory, logFile, () =>
    spawnPostgresProgram({
      program: postgres,
      paths: [dataDirectory],
      args: (data) => [
        '-D',
        data ?? dataDirectory,
        ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
      ],
      logFile,
    }),
  );
  const urlOf = (user: string, itsPassword: string, database: string) =>
    `postgresql://${user}:${encodeURIComponent(itsPassword)}@127.0.0.1:${port}/${encodeURIComponent(database)}`;
  const url = (database: string) => urlOf(OWNER, password, database);
  const applicationUrl = (database: string, itsPassword: string) => urlOf(APPLICATION, itsPassword, database);
  const { pid, ended } = server;
  const stop = ({ hasty = false } = {}) => server.stop(hasty ? HASTY_SHUTDOWN : FAST_SHUTDOWN);
  try {
    await ensureDatabase(url);
  } catch (error) {
    await stop();
    throw error;
  }
  return { port, pid, logFile, url, applicationUrl, ended, stop };
}

async function startUntilReady(
  dataDirectory: string,
  logFile: string,
  spawnServer: () => ChildProcess,
): Promise<BackgroundChild> {
  const retryUntil = performance.now() + RETRY_MS;
  for (;;) {
    const logStart = fileSize(logFile);
    const server = followInBackground(spawnServer());
    const outcome = await ready(server, dataDirectory);
    if (outcome === 'ready') return server;
    await server.stop(FAST_SHUTDOWN);
    const lines = lastLines(logFile, 15, logStart).join('\n');
    if (outcome === 'ended' && isStillEnding(lines) && performance.now() < retryUntil) {
      await delay(200);
      continue;
    }
    const why = outcome === 'ended' ? 'ended before it was ready' : `was not ready within ${READY_MS / 1000} s`;
    throw new Error(`PostgreSQL ${why} (log: ${logFile}):\n${lines}`, { cause: server.problem() });
  }
}

/** The server reports that it is ready in `postmaster.pid`. */
async function ready(server: BackgroundChild, dataDirectory: string): Promise<'ready' | 'ended' | 'late'> {
  const deadline = performance.now() + READY_MS;
  while (performance.now() < deadline) {
    if (server.hasEnded()) return 'ended';
    const file = readPostmasterFile(dataDirectory);
    if (file?.pid === server.pid && file.status === 'ready') return 'ready';
    await delay(10);
  }
  return 'late';
}
