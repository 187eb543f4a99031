import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { EnvError } from '../src/platform/env.ts';
import { fileSize } from './log-file.ts';

/** Absolute paths of all state of the local stack. Removing the folder resets the stack. */
export interface DataFolder {
  path: string;
  /** PostgreSQL's data directory. */
  postgres: string;
  /** Temporal's SQLite file. */
  temporalDatabase: string;
  /** Workflow bundles, one file per version. */
  bundles: string;
  /** Node's cache of compiled code. */
  compileCache: string;
  logs: { postgres: string; temporal: string; app: string };
  /** Mails, one file each, when no SMTP server is configured. */
  mail: string;
  /** Files that the product keeps. */
  files: string;
  /** What tool servers keep. */
  tools: string;
  /** Mode 0600: `Secrets`. */
  secrets: string;
  /** Mode 0600: `Credentials`. */
  credentials: string;
  /** Mode 0600, only while the stack runs: `Connection`, for the CLI. */
  connection: string;
  /** The process that uses the folder and the processes it started: `Holding`. */
  holding: string;
  /** Locked while a stack uses the folder. */
  lock: string;
}

const LOG_LIMIT_BYTES = 20 * 1024 * 1024;

/** Creates the folder, readable only by its owner. @throws EnvError when it cannot be created */
export function openDataFolder(path: string): DataFolder {
  const at = (...names: string[]) => join(path, ...names);
  const folder: DataFolder = {
    path,
    postgres: at('postgres'),
    temporalDatabase: at('temporal.db'),
    bundles: at('bundles'),
    compileCache: at('compile-cache'),
    logs: { postgres: at('logs', 'postgres.log'), temporal: at('logs', 'temporal.log'), app: at('logs', 'app.log') },
    mail: at('mail'),
    files: at('files'),
    tools: at('tools'),
    secrets: at('secrets.json'),
    credentials: at('credentials.json'),
    connection: at('connection.json'),
    holding: at('holding.json'),
    lock: at('lock'),
  };
  try {
    for (const made of [path, folder.bundles, at('logs')]) mkdirSync(made, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new EnvError(`ATELIER_DATA: ${path} cannot be used as a folder (${(error as Error).message}).`);
  }
  return folder;
}

/** Rotates large logs, keeping one generation (`.1`). Call it only while holding the folder. */
export function rotateLogs(folder: DataFolder): void {
  for (const log of Object.values(folder.logs)) {
    if (fileSize(log) > LOG_LIMIT_BYTES) renameSync(log, `${log}.1`);
  }
}
