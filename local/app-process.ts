import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type BackgroundChild, followInBackground } from './background-child.ts';
import { fileSize, lastLines } from './log-file.ts';
import { termThenKill } from './processes.ts';

interface AppOptions {
  /** Roles of the process. */
  roles: readonly string[];
  env: Record<string, string | undefined>;
  logFile: string;
  /** The entry point; `workers/main.ts` by default. */
  entryPoint?: string;
  /** Options of Node and V8; none by default. */
  options?: readonly string[];
  /** Called with the process id as soon as the process is spawned. */
  onSpawn?: (pid: number) => void;
  signal?: AbortSignal;
  /** How long it may take to become ready; a minute by default. */
  readyMs?: number;
}

export interface RunningApp {
  pid: number;
  /** Base URL of the HTTP API, as reported by the process. */
  api: string;
  ended: Promise<void>;
  /** Sends TERM, on which the process drains (within 40 s); KILL after 45 s, with `hasty` after 1.5 s. */
  stop(options?: { hasty?: boolean }): Promise<void>;
}

const READY_MS = 60_000;

/**
 * Starts the product as one process (API and workers) and waits until it is ready.
 * The process also drains when its IPC channel closes, so that it does not outlive a killed starter.
 * Throws with its last log lines if it ends or is not ready in time.
 */
export async function startApp({
  roles,
  env,
  logFile,
  entryPoint,
  options = [],
  onSpawn,
  signal,
  readyMs = READY_MS,
}: AppOptions): Promise<RunningApp> {
  const main = entryPoint ?? fileURLToPath(new URL('../workers/main.ts', import.meta.url));
  const logStart = fileSize(logFile);
  const log = openSync(logFile, 'a', 0o600);
  const child = spawn(process.execPath, [...options, main, ...roles], {
    env,
    detached: true,
    stdio: ['ignore', log, log, 'ipc'],
  });
  closeSync(log);
  const app = followInBackground(child);
  onSpawn?.(app.pid);
  const stop = ({ hasty = false } = {}) => app.stop(termThenKill(hasty ? 1500 : 45_000));
  const ready = Promise.withResolvers<string>();
  child.on('message', (message) => {
    const { type, api } = message as { type?: string; api?: string };
    if (type === 'ready') ready.resolve(api ?? '');
  });
  const timer = setTimeout(() => ready.reject(new Error(`was not ready within ${readyMs / 1000} s`)), readyMs);
  const abort = () => ready.reject(new Error('was stopped before it was ready'));
  signal?.addEventListener('abort', abort);
  void app.ended.then(() => ready.reject(endOf(app, child.exitCode ?? child.signalCode)));
  try {
    return { pid: app.pid, api: await ready.promise, ended: app.ended, stop };
  } catch (error) {
    await stop({ hasty: true });
    const lines = lastLines(logFile, 20, logStart).join('\n');
    throw new Error(`The app (API and workers) ${(error as Error).message} (log: ${logFile}):\n${lines}`, {
      cause: error,
    });
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', abort);
  }
}

function endOf(app: BackgroundChild, how: number | string | null): Error {
  return new Error(app.problem()?.message ?? `ended before it was ready (${how})`);
}
