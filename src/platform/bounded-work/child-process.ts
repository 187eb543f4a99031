import { type ChildProcess, fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { getCompileCacheDir } from 'node:module';
import { setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Answer, type Assignment, awaits, outOfTime, ready, WorkTooCostly } from './task.ts';

/**
 * Size of V8's heap: 64 MiB for a task, and the needs of the program and the modules of tasks. A heap that reaches its
 * limit ends its whole process, which is why these are processes and not threads.
 */
const heap = { oldSpaceMb: 88, semiSpaceMb: 4 };

/** A process cuts its task short by itself, and is killed when it has not done so by this time after its limit. */
const killAfterMs = 2_000;

/** Less of the processor than this in that time: it did not have it to cut its task short. */
const starvedBelowMs = killAfterMs / 2;

/** Below the priority of the process itself: costly tasks use only idle time. */
const niceness = 5;

const keptOfStderr = 2_000;

/**
 * The folder of compiled code, if it is kept: separate from that of this process, because V8 accepts none that was
 * compiled with other flags. Node adds a folder of its version.
 */
function compileCache(): Record<string, string> {
  const folder = getCompileCacheDir();
  return folder === undefined ? {} : { NODE_COMPILE_CACHE: join(dirname(folder), 'bounded-work') };
}

/** How V8 ends a process whose heap is full, and how a kernel ends one that uses too much memory. */
const memorySignals: readonly (string | null)[] = ['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGKILL'];

export interface ChildEnd {
  /** Whether it could ever take an assignment. */
  wasReady: boolean;
  /** Its latest output. */
  stderr: string;
}

/** Milliseconds that the main thread of a process has had the processor; undefined where the system does not say. */
function threadCpuMs(pid: number): number | undefined {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')[0]) / 1e6;
  } catch {
    return undefined;
  }
}

/** One process of the pool, which performs one task at a time. */
export class WorkProcess {
  readonly #child: ChildProcess;
  #answered: ((answer: Answer | Error) => void) | undefined;
  #stderr = '';
  #isReady = false;
  /** Whether its task gave a promise. */
  #awaits = false;

  constructor(modules: readonly string[], on: { ready(): void; end(end: ChildEnd): void }) {
    this.#child = fork(fileURLToPath(new URL('./child.ts', import.meta.url)), [...modules], {
      // No environment: processes with tenants' texts have no secrets.
      env: compileCache(),
      execArgv: [`--max-old-space-size=${heap.oldSpaceMb}`, `--max-semi-space-size=${heap.semiSpaceMb}`],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    this.#child.once('spawn', () => this.#yieldToOthers());
    this.#child.stderr?.on('data', (data) => {
      this.#stderr = `${this.#stderr}${data}`.slice(-keptOfStderr);
    });
    this.#child.on('message', (message) => {
      if (message === awaits) {
        this.#awaits = true;
        return;
      }
      if (message !== ready) return this.#answered?.(message as Answer);
      this.#isReady = true;
      on.ready();
    });
    let ended = false;
    const end = (failure: Error) => {
      if (ended) return;
      ended = true;
      this.#answered?.(failure);
      on.end({ wasReady: this.#isReady, stderr: this.#stderr });
    };
    this.#child.on('error', end);
    this.#child.on('exit', (code, signal) => {
      const outOfMemory = memorySignals.includes(signal) || (code ?? 0) > 128;
      if (signal === outOfTime) return end(new WorkTooCostly('time'));
      end(outOfMemory ? new WorkTooCostly('memory') : new Error('A process of the pool ended in the midst of a task.'));
    });
    this.#keepParent(false);
  }

  #yieldToOthers(): void {
    try {
      setPriority(this.#child.pid!, niceness);
    } catch {
      // It has ended already, or the system has no priorities.
    }
  }

  /** An idle process does not keep its parent from ending. */
  #keepParent(isNeeded: boolean): void {
    const handles = [this.#child, this.#child.channel, this.#child.stderr as unknown as NodeJS.RefCounted | null];
    for (const handle of handles)
      if (isNeeded) handle?.ref();
      else handle?.unref();
  }

  /** @throws WorkTooCostly, or an Error when the process ended for another reason */
  async perform(assignment: Assignment): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    this.#answered = (answer) => (answer instanceof Error ? reject(answer) : resolve(answer));
    this.#awaits = false;
    let timer = setTimeout(() => {
      const before = threadCpuMs(this.#child.pid!);
      timer = setTimeout(() => {
        const after = threadCpuMs(this.#child.pid!);
        // A task that had no processor may not be costly at all.
        if (!this.#awaits && after! - before! < starvedBelowMs) resolve({ kind: 'starved', spent: true });
        else reject(new WorkTooCostly('time'));
        this.kill();
      }, killAfterMs);
    }, assignment.clockMs);
    this.#keepParent(true);
    this.#child.send(assignment);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      this.#answered = undefined;
      this.#keepParent(false);
    }
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
