import { execFile } from 'node:child_process';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import type { LocalSettings } from '../../src/platform/env.ts';
import { buildTemporal, downloadTemporal } from './temporal-install.ts';

const run = promisify(execFile);

/** Older versions lack required server features (worker versioning, fairness). */
const OLDEST_ON_PATH = '1.5.0';

export interface TemporalProgram {
  path: string;
  /** As reported by the program, such as "1.8.2". */
  version: string;
  source: 'TEMPORAL_CLI' | 'PATH' | 'cache' | 'download' | 'build';
}

interface TemporalSearch {
  settings: Pick<LocalSettings, 'temporalCli' | 'cacheFolder' | 'parentEnvironment'>;
  /** Receives progress messages, at least every 10 s during a download or build. */
  log: (line: string) => void;
  /** Aborts a download or build. */
  signal?: AbortSignal;
}

/**
 * Finds a working Temporal CLI or installs one: TEMPORAL_CLI, PATH, the cache, a download (at most 60 s), a build with Go
 * (some minutes, once).
 * Throws one error with the reason of every failed attempt and what to install.
 */
export async function findTemporalProgram({ settings, log, signal }: TemporalSearch): Promise<TemporalProgram> {
  if (settings.temporalCli !== undefined) {
    // No fallback: another program would hide an error in TEMPORAL_CLI.
    return {
      path: settings.temporalCli,
      version: await requireVersion('TEMPORAL_CLI', settings.temporalCli),
      source: 'TEMPORAL_CLI',
    };
  }
  const version = pinnedVersion();
  const cached = join(settings.cacheFolder, 'atelier', 'temporal', version, 'temporal');
  const get = { version, target: cached, log, environment: settings.parentEnvironment, ...(signal && { signal }) };
  const ways: [TemporalProgram['source'], string, () => Promise<string>][] = [
    ['PATH', '`temporal` on PATH', async () => findOnPath(settings.parentEnvironment.PATH)],
    ['cache', 'the cache', async () => requireExecutable(cached)],
    ['download', 'the download', () => downloadTemporal(get)],
    ['build', 'a build with Go', () => buildTemporal(get)],
  ];
  const reasons: string[] = [];
  for (const [source, name, find] of ways) {
    try {
      const path = await find();
      const found = await requireVersion(name, path);
      if (source === 'PATH' && !atLeast(found, OLDEST_ON_PATH)) {
        throw new Error(`${path} is ${found}, older than ${OLDEST_ON_PATH}`);
      }
      return { path, version: found, source };
    } catch (error) {
      signal?.throwIfAborted();
      reasons.push(`  - ${name}: ${(error as Error).message}`);
    }
  }
  throw new Error(
    `No Temporal program (the temporal CLI, ${OLDEST_ON_PATH} or newer) could be found, downloaded or built:\n${reasons.join('\n')}\n` +
      'Install the CLI (https://docs.temporal.io/cli) or Go 1.26.4 or newer, or set TEMPORAL_CLI to the program, or TEMPORAL_ADDRESS to a server.',
  );
}

/** The version pinned by `tools/temporal/go.mod`. */
export function pinnedVersion(
  goMod = readFileSync(new URL('../../tools/temporal/go.mod', import.meta.url), 'utf8'),
): string {
  const version = /\bgithub\.com\/temporalio\/cli v(\S+)/.exec(goMod)?.[1];
  if (version === undefined)
    throw new Error('tools/temporal/go.mod does not name a version of github.com/temporalio/cli.');
  return version;
}

/** Parses the output of `temporal --version`: "temporal version 1.8.2 (Server 1.31.2, UI 2.50.1)". */
export function parseVersion(output: string): string | undefined {
  return /\btemporal version v?(\d+\.\d+\.\d+)/.exec(output)?.[1];
}

/** Whether a version (numbers with dots) is `minimum` or newer. */
export function atLeast(version: string, minimum: string): boolean {
  return version.localeCompare(minimum, 'en', { numeric: true }) >= 0;
}

async function requireVersion(name: string, path: string): Promise<string> {
  let output: string;
  try {
    ({ stdout: output } = await run(path, ['--version'], { timeout: 20_000, env: {} }));
  } catch (error) {
    throw new Error(`${name}: ${path} does not run (${firstLine(error)})`);
  }
  const version = parseVersion(output);
  if (version === undefined)
    throw new Error(`${name}: ${path} is not the Temporal CLI (it says "${output.trim().slice(0, 80)}")`);
  return version;
}

function findOnPath(path = ''): string {
  for (const folder of path.split(delimiter).filter(Boolean)) {
    try {
      return requireExecutable(join(folder, 'temporal'));
    } catch {
      // Try the next folder.
    }
  }
  throw new Error('not found');
}

function requireExecutable(path: string): string {
  try {
    accessSync(path, constants.X_OK);
    return path;
  } catch {
    throw new Error(`nothing at ${path}`);
  }
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}
