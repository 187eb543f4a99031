import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Holding, PARTS, type Part } from '../../local/holding.ts';
import { isRunning, type ProcessRecord, recordProcess } from '../../local/processes.ts';
import { readLocalSettings } from '../../src/platform/env.ts';
import { compileCache, runningServers } from '../servers.ts';
import { until } from '../until.ts';

export const root = fileURLToPath(new URL('../../', import.meta.url));

/** Bounds are for a machine that does many other things; on a quiet one a start takes 3 s. */
const startMs = 90_000;
const endMs = 60_000;

/** The line of `--json`. */
export interface Ready {
  ready: true;
  pid: number;
  api: string;
  temporal: string;
  temporalUi: string;
  organizationId: string;
  testKey: string;
  liveKey: string;
}

export type StackProcesses = Record<Part | 'starter', ProcessRecord>;

/** What a person's shell has. Not what is ours: options of the tests' Node, npm's marks, addresses of other servers. */
export function shellEnvironment(): Record<string, string> {
  const { parentEnvironment } = readLocalSettings();
  // Behind a proxy, npm reaches its registry with the last two alone.
  const names = ['PATH', 'HOME', 'TMPDIR', 'XDG_CACHE_HOME', 'TEMPORAL_CLI', 'HTTPS_PROXY', 'NODE_EXTRA_CA_CERTS'];
  return Object.fromEntries(
    names.flatMap((name) => (parentEnvironment[name] ? [[name, parentEnvironment[name]]] : [])),
  );
}

export interface StartOptions {
  /** What was typed: `npm start`, or the program itself. */
  by?: 'npm' | 'node';
  json?: boolean;
  /** Further arguments. */
  flags?: string[];
  env?: Record<string, string>;
}

/** One start of the stack: the process that was spawned, npm or the starter, which leads a process group of its own. */
export class Start {
  readonly process: ProcessRecord;
  /** Its exit code, once it has ended and everything it wrote has arrived; null when a signal ended it. */
  readonly ended: Promise<number | null>;
  stdout = '';
  stderr = '';
  #hasEnded = false;

  constructor({ by = 'node', json = true, flags: further = [], env }: StartOptions) {
    const [program, args] = by === 'npm' ? ['npm', ['start']] : [process.execPath, ['local/start.ts']];
    // Marked as npm's, the starter drains when its parent is gone: an interrupted test run leaves nothing behind.
    const mark = by === 'npm' ? {} : { npm_lifecycle_event: 'start' };
    const flags = json ? [...(by === 'npm' ? ['--'] : []), '--json', ...further] : further;
    const child = spawn(program, [...args, ...flags], {
      cwd: root,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...shellEnvironment(), ...mark, ...env },
    });
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
    });
    this.process = recordProcess(child.pid!)!;
    // Not `exit`: what it said last has arrived by then.
    this.ended = once(child, 'close').then(([code]) => {
      this.#hasEnded = true;
      return code as number | null;
    });
  }

  /** Waits until it has said something that matches; throws with all it said when it ends without. */
  says(pattern: RegExp): Promise<RegExpExecArray> {
    return until(
      `${pattern} is said`,
      async () => {
        const found = pattern.exec(this.stdout) ?? pattern.exec(this.stderr);
        if (found === null && this.#hasEnded) {
          throw new Error(`It ended and never said ${pattern}:\n${this.stdout}\n${this.stderr}`);
        }
        return found ?? false;
      },
      startMs,
    );
  }

  /** The one line of `--json`. */
  async ready(): Promise<Ready> {
    const [line] = await this.says(/^\{"ready":true.*\}$/m);
    return JSON.parse(line);
  }
}

/** A data folder in which the stack is started, killed and started again; it is closed with nothing left running. */
export class StackFolder {
  /** Below a folder that only its owner may enter, as a home may be. */
  readonly data: string;
  readonly #parent = mkdtempSync(join(runningServers().folder, 'stack-'));
  readonly #seen: ProcessRecord[] = [];

  constructor() {
    this.data = join(this.#parent, 'data');
  }

  /** Spares a first start the seconds in which it would build the bundle, and compile everything. */
  takeBuiltBundle(): void {
    mkdirSync(this.data, { mode: 0o700 });
    cpSync(runningServers().bundles, join(this.data, 'bundles'), { recursive: true });
    symlinkSync(compileCache, join(this.data, 'compile-cache'));
  }

  /** Ports are any free ones unless `env` says otherwise. */
  start({ env, ...options }: StartOptions = {}): Start {
    const ports = { PORT: '0', TEMPORAL_PORT: '0', TEMPORAL_UI_PORT: '0', POSTGRES_PORT: '0' };
    const start = new Start({ ...options, env: { ATELIER_DATA: this.data, ...ports, ...env } });
    this.#seen.push(start.process);
    return start;
  }

  file(name: string): string {
    return join(this.data, name);
  }

  holding(): Holding {
    return JSON.parse(readFileSync(this.file('holding.json'), 'utf8'));
  }

  /** Every process of a stack that is ready. */
  processes(): StackProcesses {
    const { starter, processes } = this.holding();
    const found = { starter, ...processes };
    const missing = PARTS.filter((part) => found[part] === undefined);
    if (missing.length > 0) throw new Error(`holding.json does not name: ${missing.join(', ')}`);
    this.#seen.push(...Object.values(found));
    return found as StackProcesses;
  }

  /** Kills what a failed test left, and removes everything. */
  close(): void {
    try {
      this.processes();
    } catch {
      // Nothing holds it, which is how a test leaves it that passes.
    }
    for (const { pid } of this.#seen.filter(isRunning)) process.kill(pid, 'SIGKILL');
    // The last processes of a server that was killed may be at their end still.
    rmSync(this.#parent, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** Waits until none of these processes runs any more; throws naming those that do. */
export async function allGone(processes: Partial<StackProcesses>): Promise<void> {
  const left = () => Object.entries(processes).filter(([, record]) => isRunning(record));
  await until('every process is gone', async () => left().length === 0, endMs).catch((error: Error) => {
    throw new Error(`${error.message}; left: ${left().map(([name, { pid }]) => `${name} (${pid})`)}`);
  });
}
