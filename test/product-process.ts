import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { RoleName } from '../workers/roles.ts';
import {
  compileCache,
  optionsOfTests,
  resolutionsFile,
  runningServers,
  type Servers,
  temporaryFolder,
} from './servers.ts';

export const ownEntryPoint = fileURLToPath(new URL('../workers/main.ts', import.meta.url));

const preload = new URL('./runtime/use-resolutions.ts', import.meta.url);

export type LogLine = Record<string, unknown> & { msg?: string };

/** A process of the product, run as in production. */
export interface ProductProcess {
  /** Base URL, in a process with the role api. */
  api: string;
  pid: number;
  /** Everything it logged so far. */
  log: LogLine[];
  /** What it wrote to standard error. */
  errors: string[];
  /**
   * From now on it dies at this fail point. One that has served a test so serves as the victim of the next: a start costs
   * more than most tests.
   */
  arm(failPoint: string): Promise<void>;
  /** From now on its work waits at this fail point, where the product awaits it, until the fail point is released. */
  hold(failPoint: string): Promise<HeldFailPoint>;
  /** SIGTERM, and its exit code once it has drained. */
  stop(): Promise<number | null>;
  /** SIGKILL, and gone. */
  kill(): Promise<void>;
  /** Resolves when it has ended, for whatever reason. */
  ended: Promise<void>;
}

export interface HeldFailPoint {
  /** Resolves when work waits there. */
  reached: Promise<void>;
  release(): Promise<void>;
}

export interface ProcessOptions {
  databaseUrl: string;
  /** Keeps the runs of one test file from the workers of another. */
  taskQueuePrefix: string;
  env?: Record<string, string>;
  /** The entry point of another copy of the sources; by default that of this one. */
  entryPoint?: string;
}

/** The whole environment of a process; nothing of the tests' own reaches it. */
export function processEnvironment(
  { databaseUrl, taskQueuePrefix, env }: ProcessOptions,
  { temporalAddress, bundles, folder }: Pick<Servers, 'temporalAddress' | 'bundles' | 'folder'>,
): Record<string, string> {
  preload.searchParams.set('file', resolutionsFile(folder));
  // Those of the test's are added to those that every process has.
  const { NODE_OPTIONS: more = '', ...own } = env ?? {};
  return {
    NODE_ENV: 'test',
    NODE_COMPILE_CACHE: compileCache,
    NODE_OPTIONS: `--import=${preload.href} ${more}`.trim(),
    DATABASE_URL: databaseUrl,
    TEMPORAL_ADDRESS: temporalAddress,
    TEMPORAL_TASK_QUEUE_PREFIX: taskQueuePrefix,
    WORKFLOW_BUNDLE_DIR: bundles,
    STORAGE_DIR: join(folder, 'files'),
    MAIL_FOLDER: join(folder, 'mail'),
    // A process that is killed leaves what it was making.
    TMPDIR: temporaryFolder(folder),
    PORT: '0',
    METRICS_PORT: '0',
    // All tests come from one address. Those of the limit set their own.
    ADDRESS_RATE_MAX: '100000',
    ...own,
  };
}

/** A start takes a second of a processor: many at once all become slow, and what waits for them gives up. */
const maxConcurrentStarts = 2;
const starting = new Set<Promise<void>>();

export async function startProcess(roles: RoleName[], options: ProcessOptions): Promise<ProductProcess> {
  while (starting.size >= maxConcurrentStarts) await Promise.race(starting);
  const started = startNow(roles, options);
  const settled: Promise<void> = started.then(
    () => void starting.delete(settled),
    () => void starting.delete(settled),
  );
  starting.add(settled);
  return started;
}

/**
 * Options of V8 for processes that die soon and whose memory no test measures: those with an entry point of the tests. In a
 * small young generation, a seventh of the work of a start is to collect garbage.
 */
const optionsForShortLives = ['--min-semi-space-size=32', '--max-semi-space-size=32'];

async function startNow(roles: RoleName[], options: ProcessOptions): Promise<ProductProcess> {
  const program = options.entryPoint ? [...optionsForShortLives, options.entryPoint] : [ownEntryPoint];
  const child: ChildProcess = spawn(process.execPath, [...optionsOfTests, ...program, ...roles], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: processEnvironment(options, runningServers()),
  });
  const log: LogLine[] = [];
  const errors: string[] = [];
  createInterface({ input: child.stdout! }).on('line', (line) => log.push(readLine(line)));
  createInterface({ input: child.stderr! }).on('line', (line) => errors.push(line));
  // Not `exit`: what it logged last has arrived by then.
  const ended = once(child, 'close').then(() => {});
  const ready = once(child, 'message').then(([message]) => message as { api?: string });
  const first = await Promise.race([ready, ended]);
  // On a busy machine its work comes to the fail point before it is ready. Requests cannot: they need the process first.
  const hasDied = options.env?.FAIL_POINT !== undefined && !roles.includes('api') && child.signalCode === 'SIGKILL';
  if (!first && !hasDied) {
    const end = child.exitCode ?? child.signalCode;
    throw new Error(`The process ended before it was ready (${end}):\n${errors.join('\n')}\n${JSON.stringify(log)}`);
  }
  const received = (type: string) =>
    new Promise<void>((resolve) => {
      child.on('message', (message: { type: string }) => {
        if (message.type === type) resolve();
      });
    });
  const send = async (message: { failPoint?: string; holds?: boolean }) => {
    const armed = received('armed');
    child.send(message);
    await Promise.race([armed, ended.then(() => Promise.reject(new Error('It ended before it was armed.')))]);
  };
  return {
    api: first?.api ?? '',
    pid: child.pid!,
    log,
    errors,
    ended,
    arm: (failPoint) => send({ failPoint }),
    async hold(failPoint) {
      const reached = received('reached');
      await send({ failPoint, holds: true });
      return { reached, release: () => send({}) };
    },
    async stop() {
      child.kill('SIGTERM');
      await ended;
      return child.exitCode;
    },
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

export function readLine(line: string): LogLine {
  try {
    return JSON.parse(line);
  } catch {
    return { msg: line };
  }
}
