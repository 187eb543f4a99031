import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { promisify } from 'node:util';

/** The resource limits of a tool server's process. */
export interface ProcessLimits {
  heapMb: number;
  /** Memory in total, as the kernel reports it. */
  residentMb: number;
  /** Processor time from its start to its end. */
  cpuSeconds: number;
  openFiles: number;
  /** Maximum size of one file. */
  fileBytes: number;
}

interface ServerProgram {
  /** Absolute path of a module. */
  module: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  /** The only folder that it can write and, besides `readable`, the only one that it can read. */
  folder: string;
  /** Absolute paths; `*` at the end matches everything below. */
  readable: readonly string[];
  /** Modules that are loaded before it. */
  before: readonly string[];
}

const watchEveryMs = 200;
const niceness = 5;
const keptOfStderr = 2_000;

/** Set for the process itself and inherited by none, because it can start no other. Blocks of -f have 512 bytes. */
const limitsScript = 'ulimit -c 0; ulimit -t "$1"; ulimit -n "$2"; ulimit -f "$3"; shift 3; exec "$@"';

const unshare = '/usr/bin/unshare';
const namespaces = ['--user', '--map-current-user', '--net'];

/**
 * Where the kernel gives a network namespace without privileges, the process has one of its own, with no way out. Only
 * that it does is remembered: a failure may pass, and what starts after it shall have a namespace again.
 */
let namespacesOfSystem: Promise<readonly string[]> | undefined;

/** @throws Error when the kernel could not be asked, for example because no descriptors are left */
const findNamespaces = async (): Promise<readonly string[]> => {
  try {
    await promisify(execFile)(unshare, [...namespaces, '/bin/true'], { timeout: 5_000 });
    return [unshare, ...namespaces];
  } catch (error) {
    namespacesOfSystem = undefined;
    const { code } = error as { code?: unknown };
    const isRefusal = typeof code === 'number' || code === 'ENOENT' || code === 'EACCES';
    if (isRefusal) return [];
    throw error;
  }
};

/** A process that serves one tenant: with its own folder, no network, no other processes, and resource limits. */
export class ServerProcess {
  readonly #child: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #watch: NodeJS.Timeout;
  readonly ended: Promise<void>;
  #stderr = '';
  #isAlive = true;

  private constructor(child: ServerProcess['child'], { residentMb }: ProcessLimits) {
    this.#child = child;
    child.stderr.on('data', (data) => {
      this.#stderr = `${this.#stderr}${data}`.slice(-keptOfStderr);
    });
    child.stdin.on('error', () => {});
    this.#watch = setInterval(() => this.#checkMemory(residentMb), watchEveryMs);
    this.#watch.unref();
    child.once('spawn', () => this.#yieldToOthers());
    this.ended = new Promise((resolve) => {
      const end = () => {
        this.#isAlive = false;
        clearInterval(this.#watch);
        resolve();
      };
      child.once('exit', end);
      child.once('error', end);
    });
  }

  static async start({ module, args, env, folder, readable, before }: ServerProgram, limits: ProcessLimits) {
    namespacesOfSystem ??= findNamespaces();
    const node = [
      process.execPath,
      '--permission',
      ...[...readable, `${folder}/*`].map((path) => `--allow-fs-read=${path}`),
      `--allow-fs-write=${folder}/*`,
      `--max-old-space-size=${limits.heapMb}`,
      '--max-semi-space-size=4',
      '--disable-warning=ExperimentalWarning',
      '--disable-warning=SecurityWarning',
      ...before.map((path) => `--import=${path}`),
      module,
      ...args,
    ];
    const blocks = Math.ceil(limits.fileBytes / 512);
    const bounds = [limits.cpuSeconds, limits.openFiles, blocks].map(String);
    const [program, ...rest] = [...(await namespacesOfSystem), '/bin/sh', '-c', limitsScript, 'sh', ...bounds, ...node];
    // A process group of its own, so that all its processes can be ended. It gets no environment, because that contains
    // secrets.
    const child = spawn(program!, rest, { cwd: folder, env, detached: true, stdio: ['pipe', 'pipe', 'pipe'] });
    // Where no descriptors are left it has no streams, and its error comes after that.
    if (!child.stdin) throw (await once(child, 'error'))[0];
    return new ServerProcess(child, limits);
  }

  get child(): ChildProcessByStdio<Writable, Readable, Readable> {
    return this.#child;
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Its latest output, for logs. */
  get stderr(): string {
    return this.#stderr;
  }

  kill(): void {
    if (!this.#isAlive || this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, 'SIGKILL');
    } catch {
      this.#child.kill('SIGKILL');
    }
  }

  #yieldToOthers(): void {
    try {
      setPriority(this.#child.pid!, niceness);
    } catch {
      // It has ended already, or the system has no priorities.
    }
  }

  /** Systems without /proc have the limit of the heap alone. */
  #checkMemory(maxMegabytes: number): void {
    try {
      const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
      if (Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) > maxMegabytes * 1_024) this.kill();
    } catch {
      // It has ended.
    }
  }
}
