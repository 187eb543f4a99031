import { mkdirSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { EnvError } from '../src/platform/env.ts';
import { fileSize } from './log-file.ts';

/** Absolute paths of everything the local stack keeps. Removing the folder resets it. */
export interface DataFolder {
  path: string;
  /** PostgreSQL's data directory. */
  postgres: string;
  /** Temporal's SQLite file. */
  temporalDatabase: string;
  /** Workflow bundles, by content. */
  bundles: string;
  /** Node's cache of compiled code. */
  compileCache: string;
  logs: { postgres: string; temporal: string; app: string };
  /** Mail that had nowhere else to go, a file each. */
  mail: string;
  /** Mode 0600: `Secrets`. */
  secrets: string;
  /** Mode 0600: `Credentials`. */
  credentials: string;
  /** Mode 0600, only while the stack runs: `Connection`, for the CLI. */
  connection: string;
  /** Who holds the folder and which processes it started: `Holding`. */
  holding: string;
  /** Locked by the one stack that runs on the folder. */
  lock: string;
}

const LOG_LIMIT_BYTES = 20 * 1024 * 1024;

/** Makes the folder, readable by its owner alone, and answers its layout. @throws EnvError when it cannot be made */
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

/** Sets aside logs that grew large, one generation (`.1`). Only the holder of the folder may do this. */
export function rotateLogs(folder: DataFolder): void {
  for (const log of Object.values(folder.logs)) {
    if (fileSize(log) > LOG_LIMIT_BYTES) renameSync(log, `${log}.1`);
  }
}
