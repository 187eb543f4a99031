import { type SpawnOptions, spawn } from 'node:child_process';
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { tryLock } from '../kernel-lock.ts';

interface TemporalInstall {
  version: string;
  /** Path of the program. It is renamed into place, so that no incomplete program is executed. */
  target: string;
  log: (line: string) => void;
  /** The user's environment: PATH, proxies, Go's settings. */
  environment: Record<string, string | undefined>;
  /** Aborts the installation and its processes. */
  signal?: AbortSignal;
}

const DOWNLOAD_MS = 60_000;
const BUILD_MS = 30 * 60_000;
const PROGRESS_MS = 10_000;

/** Downloads the CLI with the SDK, within 60 s. Returns the path of the program; throws an error with the reason. */
export function downloadTemporal(work: TemporalInstall): Promise<string> {
  const { version, log, environment } = work;
  return install(work, async (folder) => {
    log(`Temporal: downloading the CLI ${version}`);
    const script = fileURLToPath(new URL('./temporal-download.ts', import.meta.url));
    // The SDK also starts the downloaded server. A failure to start does not matter if the program exists.
    const failure = await runBounded(
      { name: 'Temporal: download', timeoutMs: DOWNLOAD_MS, ...work },
      process.execPath,
      [script, folder, `v${version}`],
      { env: environment },
    ).then(
      () => undefined,
      (error: Error) => error,
    );
    // The file name depends on the version of the SDK. An incomplete download has one of these extensions.
    const name = readdirSync(folder).find((entry) => !/\.(downloading|tmp|part)$/.test(entry));
    if (name === undefined) throw failure ?? new Error('the SDK did not download a program');
    return join(folder, name);
  });
}

/** Builds the CLI from `tools/temporal` with Go. Returns the path of the program; throws an error with Go's last lines. */
export function buildTemporal(work: TemporalInstall): Promise<string> {
  const { version, log, environment } = work;
  const go = findGo(environment.PATH);
  return install(work, async (folder) => {
    log(`Temporal: building the CLI ${version} with Go; the first time this takes some minutes`);
    const program = join(folder, 'temporal');
    const flags = `-s -w -X github.com/temporalio/cli/internal/temporalcli.Version=${version}`;
    await runBounded(
      { name: 'Temporal: build', timeoutMs: BUILD_MS, ...work },
      go,
      [
        'build',
        '-v',
        '-trimpath',
        '-buildvcs=false',
        '-ldflags',
        flags,
        '-o',
        program,
        'github.com/temporalio/cli/cmd/temporal',
      ],
      {
        cwd: fileURLToPath(new URL('../../tools/temporal/', import.meta.url)),
        env: { ...environment, CGO_ENABLED: '0', GOWORK: 'off' },
      },
    );
    return program;
  });
}

/** One process installs; concurrent ones wait and use its result. */
async function install(
  { target, log, signal }: TemporalInstall,
  make: (folder: string) => Promise<string>,
): Promise<string> {
  const parent = dirname(target);
  mkdirSync(parent, { recursive: true });
  const lock = await waitForLock(join(parent, 'install.lock'), log, signal);
  // Incomplete installations of killed processes. The lock guarantees that none is in progress.
  for (const name of readdirSync(parent)) {
    if (name.startsWith(`${basename(target)}.`)) rmSync(join(parent, name), { recursive: true, force: true });
  }
  const folder = mkdtempSync(`${target}.`);
  try {
    if (existsSync(target)) return target;
    const made = await make(folder);
    chmodSync(made, 0o755);
    renameSync(made, target);
    return target;
  } finally {
    rmSync(folder, { recursive: true, force: true });
    lock.release();
  }
}

async function waitForLock(path: string, log: (line: string) => void, signal: AbortSignal | undefined) {
  for (let waits = 0; ; waits += 1) {
    const lock = tryLock(path);
    if (lock !== undefined) return lock;
    if (waits % 20 === 0) log('Temporal: waiting for another process that is installing the CLI');
    await delay(PROGRESS_MS / 20, undefined, { ...(signal && { signal }) });
  }
}

/** Runs a program in a process group of its own, logs its progress every 10 s, and kills the group after `timeoutMs`. */
async function runBounded(
  { name, log, timeoutMs, signal }: { name: string; timeoutMs: number } & Pick<TemporalInstall, 'log' | 'signal'>,
  program: string,
  args: string[],
  options: SpawnOptions,
): Promise<void> {
  const child = spawn(program, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  const endGroup = () => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
    } catch {
      // The group has already ended.
    }
  };
  const output: string[] = [];
  let lines = 0;
  const keep = (chunk: Buffer) => {
    lines += chunk.toString().split('\n').length - 1;
    output.push(chunk.toString());
    if (output.length > 50) output.shift();
  };
  child.stdout?.on('data', keep);
  child.stderr?.on('data', keep);
  const started = performance.now();
  const seconds = () => Math.round((performance.now() - started) / 1000);
  const progress = setInterval(() => log(`${name}: ${seconds()} s, ${lines} lines of output so far`), PROGRESS_MS);
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    endGroup();
  }, timeoutMs);
  // If this process exits, the program is killed too.
  process.once('exit', endGroup);
  signal?.addEventListener('abort', endGroup);
  try {
    const code = await new Promise<number | null>((resolve, reject) => {
      child.once('error', reject);
      child.once('close', resolve);
    });
    signal?.throwIfAborted();
    if (late) throw new Error(`not finished within ${timeoutMs / 1000} s`);
    if (code !== 0) throw new Error(`failed (${code}): ${lastLinesOf(output)}`);
  } finally {
    clearInterval(progress);
    clearTimeout(timer);
    process.off('exit', endGroup);
    signal?.removeEventListener('abort', endGroup);
    endGroup();
  }
}

function lastLinesOf(output: string[]): string {
  return output.join('').trim().split('\n').slice(-6).join('\n    ').slice(-1500);
}

function findGo(path = ''): string {
  const folders = [...path.split(':').filter(Boolean), '/usr/local/go/bin'];
  const go = folders.map((folder) => join(folder, 'go')).find(isExecutable);
  if (go === undefined) throw new Error('Go is not installed (1.26.4 or newer is needed)');
  return go;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
