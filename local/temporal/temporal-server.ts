import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { followInBackground } from '../background-child.ts';
import { fileSize, lastLines } from '../log-file.ts';
import { termThenKill } from '../processes.ts';
import { prepareNamespaceAt } from './temporal-namespace.ts';
import { atLeast, type TemporalProgram } from './temporal-program.ts';

interface TemporalOptions {
  program: TemporalProgram;
  /** SQLite file with all state, created if it does not exist. Without it the state is in memory. */
  databaseFile?: string;
  port: number;
  /** Whether the state must survive a power failure; yes unless given. A killed server loses nothing either way. */
  durable?: boolean;
  /** The namespace to prepare; `default` by default. */
  namespace?: string;
  /** Port of the web UI; no web UI when absent. */
  uiPort?: number;
  /** Output of the server. Default: `temporal-<port>.log` in the system's temporary folder. */
  logFile?: string;
  /** Called with the process id as soon as the process is spawned. */
  onSpawn?: (pid: number) => void;
  /** Settings in addition to those of every server, as `name=value`. */
  dynamicConfig?: readonly string[];
  /** Environment of the server, such as GOMAXPROCS; empty by default. */
  env?: Record<string, string | undefined>;
}

export interface RunningTemporal {
  /** host:port of the gRPC service. */
  address: string;
  uiUrl?: string;
  pid: number;
  logFile: string;
  /** Resolves when the server has ended, for any reason. */
  ended: Promise<void>;
  /** TERM, and KILL after 10 s; with `hasty`, after 2 s. */
  stop(options?: { hasty?: boolean }): Promise<void>;
}

const READY_MS = 30_000;

/** WAL with synchronous FULL survives power failures and is much faster than the rollback journal. */
const pragmas = ({ durable = true }: TemporalOptions) => [
  'journal_mode=WAL',
  `synchronous=${durable ? 'FULL' : 'OFF'}`,
];

/**
 * By default a shard polls 20 times a second for each kind of task, so with one shard every task would wait up to 50 ms.
 * Timers can be a second late, which would double the delay before a first retry.
 */
const DYNAMIC_CONFIG = [
  'history.transferProcessorMaxPollRPS=5000',
  'history.timerProcessorMaxPollRPS=5000',
  'history.visibilityProcessorMaxPollRPS=5000',
  'history.outboundProcessorMaxPollRPS=5000',
  'history.timerProcessorMaxTimeShift="10ms"',
  'system.enableActivityEagerExecution=true',
  'matching.numTaskqueueReadPartitions=1',
  'matching.numTaskqueueWritePartitions=1',
  'matching.enableFairness=true',
];

/** The server chooses ports for its services itself, and another program may take one before it listens. */
const maxStarts = 3;

/**
 * Starts Temporal's development server on 127.0.0.1 and prepares the namespace.
 * Throws with the server's last log lines when it does not answer within 30 s.
 */
export async function startTemporal(options: TemporalOptions): Promise<RunningTemporal> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(options);
    } catch (error) {
      if (attempt === maxStarts || !(error as Error).message.includes('address already in use')) throw error;
    }
  }
}

async function startOnce(options: TemporalOptions): Promise<RunningTemporal> {
  const { port, uiPort } = options;
  const address = `127.0.0.1:${port}`;
  const logFile = options.logFile ?? join(tmpdir(), `temporal-${port}.log`);
  const logStart = fileSize(logFile);
  const server = followInBackground(spawnServer(options, logFile));
  options.onSpawn?.(server.pid);
  const stop = ({ hasty = false } = {}) => server.stop(termThenKill(hasty ? 2000 : 10_000));
  try {
    await prepare(address, options.namespace ?? 'default', server.hasEnded);
  } catch (error) {
    await stop({ hasty: true });
    const lines = lastLines(logFile, 15, logStart).join('\n');
    throw new Error(`Temporal did not start: ${(error as Error).message} (log: ${logFile})\n${lines}`, {
      cause: error,
    });
  }
  const { pid, ended } = server;
  return { address, pid, logFile, ended, stop, ...(uiPort !== undefined && { uiUrl: `http://127.0.0.1:${uiPort}` }) };
}

function spawnServer(options: TemporalOptions, logFile: string): ChildProcess {
  const { program, databaseFile, port, uiPort, env, dynamicConfig = [] } = options;
  const newsFlag = atLeast(program.version, '1.8.0') ? ['--ui-disable-news-fetch'] : [];
  const args = [
    'server',
    'start-dev',
    '--ip',
    '127.0.0.1',
    '--port',
    String(port),
    '--log-level',
    'warn',
    ...(uiPort === undefined ? ['--headless'] : ['--ui-port', String(uiPort), ...newsFlag]),
    ...(databaseFile === undefined ? [] : ['--db-filename', databaseFile]),
    ...pragmas(options).flatMap((pragma) => ['--sqlite-pragma', pragma]),
    ...[...DYNAMIC_CONFIG, ...dynamicConfig].flatMap((setting) => ['--dynamic-config-value', setting]),
  ];
  // A file, not a pipe: the server can outlive this process, and a Go program ends when its standard error is closed.
  const log = openSync(logFile, 'a', 0o600);
  try {
    return spawn(program.path, args, { detached: true, stdio: ['ignore', log, log], env: { ...env } });
  } finally {
    closeSync(log);
  }
}

async function prepare(address: string, namespace: string, hasEnded: () => boolean): Promise<void> {
  const deadline = performance.now() + READY_MS;
  const stillWaiting = () => {
    if (hasEnded()) throw new Error('it ended before it was ready');
    return performance.now() < deadline;
  };
  // gRPC waits a second after each failed attempt, so it connects only once the port is open.
  while (!(await accepts(address)) && stillWaiting()) await delay(15);
  for (;;) {
    try {
      return await prepareNamespaceAt({ address }, namespace);
    } catch (error) {
      if (!stillWaiting()) throw error;
      await delay(50);
    }
  }
}

function accepts(address: string): Promise<boolean> {
  const url = new URL(`tcp://${address}`);
  return new Promise((resolve) => {
    const socket = connect({ host: url.hostname, port: Number(url.port) });
    const finish = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.on('connect', () => finish(true));
    socket.on('error', () => finish(false));
  });
}
