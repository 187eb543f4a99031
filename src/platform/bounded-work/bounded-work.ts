import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Parts } from '../core/parts.ts';
import type { Log } from '../observability/log.ts';
import type { TenantKey } from '../security/tenant-key.ts';
import { type ChildEnd, WorkProcess } from './child-process.ts';
import { EventLoopRounds } from './event-loop-rounds.ts';
import { FairQueue } from './fair-queue.ts';
import { MainThreadShare } from './main-thread-share.ts';
import {
  type Answer,
  type AnyBoundedTask,
  type Assignment,
  type BoundedTask,
  WorkQueueFull,
  WorkTooCostly,
} from './task.ts';
import { UsedTime } from './used-time.ts';

/** Per organization: tasks that may wait, and bytes of their arguments. */
const waitingLimits = { tasks: 500, bytes: 32 * 1024 * 1024 };

/** How long a task waits for a process before it is given back; and while the first process is still starting. */
const defaultWaitMs = 5_000;
const startWaitMs = 30_000;

/** How long a task that is performed again may wait: its process was replaced, and on a busy machine the next one starts slowly. */
const againWaitMs = 60_000;

/**
 * How long a task has by the clock when it is first performed, and whenever that was too short: on a busy machine a task
 * does not have the processor all the time, because everything else comes before it. The last one is long enough to find
 * out which tasks are too costly, even there.
 */
const defaultClockLimits: readonly ClockLimit[] = [
  (limitMs) => limitMs,
  (limitMs) => limitMs * 4 + 1_500,
  (limitMs) => limitMs * 4 + 15_000,
];

/** Milliseconds by the clock for a task that may have the processor for `limitMs`. */
type ClockLimit = (limitMs: number) => number;

/** A process is replaced after this many tasks: libraries keep a little of everything that they have seen. */
const tasksPerProcess = 5_000;

/** During a task that takes longer, another process is started, so that other tasks need not wait for one to start. */
const spareAfterMs = 50;

/** Before another process is tried, when one could not even start. */
const restartAfterMs = 1_000;

/** At least two, so that one remains when an organization keeps its share busy. */
const defaultProcesses = Math.max(2, Math.min(4, availableParallelism()));

interface RunOptions {
  /** How long the task may wait for a process. */
  waitMs?: number;
  /** Called with the milliseconds of the processor that a task used which was done. */
  onUsed?: ((ms: number) => void) | undefined;
}

interface Waiting {
  key: TenantKey;
  module: string;
  limitMs: number;
  memoryMb: number | undefined;
  isLengthy: boolean;
  args: string;
  resultAs: Assignment['resultAs'];
  /** Times that a process ended under this task for no reason of the task's. */
  interrupted: number;
  /** Times that it was cut short before it had the processor for as long as it may. */
  starved: number;
  /** Ends the wait for a process. */
  timer: NodeJS.Timeout | undefined;
  onUsed: RunOptions['onUsed'];
  resolve(result: string | Buffer): void;
  reject(error: Error): void;
}

interface Member {
  /** Undefined where it could not even be begun. */
  process: WorkProcess | undefined;
  state: 'starting' | 'idle' | 'busy' | 'ended';
  tasks: number;
}

const ending = () => new WorkQueueFull('The process is ending.');

interface BoundedWorkOptions {
  log: Log;
  /** Tasks whose modules are loaded when a process starts, so that loading them counts against no tenant's limit. */
  tasks: readonly AnyBoundedTask[];
  processes?: number;
  /** For each time that a task is performed. */
  clockLimits?: readonly ClockLimit[];
}

/**
 * Performs work whose cost tenants decide, in processes of its own: with a limit of time and of memory each, a bounded
 * queue for each organization, and never all processes for one of them. Processes are shared by the time that they are
 * used: the organization that used least of the last minute is next, so that none has more than half of it while
 * another waits. Libraries for this use threads, where a single large allocation ends the whole process, or allow a
 * tenant all slots.
 */
export class BoundedWork {
  readonly #log: Log;
  readonly #modules: readonly string[];
  readonly #processes: number;
  readonly #clockLimits: readonly ClockLimit[];
  readonly #used = new UsedTime();
  readonly #queue = new FairQueue<Waiting>((key) => this.#used.of(key));
  readonly #members = new Set<Member>();
  /** Tasks under way, by organization. */
  readonly #running = new Map<TenantKey, Waiting[]>();
  readonly #closing = new AbortController();
  readonly #mainThread = new MainThreadShare();
  readonly #rounds = new EventLoopRounds();
  /** Processes that there should be: as many as were ever needed at once. */
  #wanted = 1;

  constructor({ log, tasks, processes = defaultProcesses, clockLimits = defaultClockLimits }: BoundedWorkOptions) {
    this.#log = log;
    this.#modules = tasks.map(({ module }) => module);
    this.#processes = Math.max(2, processes);
    this.#clockLimits = clockLimits;
  }

  /**
   * @throws WorkTooCostly when the task reaches a limit; WorkQueueFull when the organization has too much waiting, no
   *   process is free for it within `waitMs`, or the machine is too busy to perform it
   */
  async run<Args, Result>(
    task: BoundedTask<Args, Result>,
    key: TenantKey,
    args: Args,
    options: RunOptions = {},
  ): Promise<Result> {
    return JSON.parse(await this.runAsText(task, key, JSON.stringify(args), options));
  }

  /**
   * The same, where arguments and result are large: their JSON passes through this thread as it is.
   * @param args JSON. @returns JSON. @throws as `run`
   */
  async runAsText(
    task: BoundedTask<never, unknown>,
    key: TenantKey,
    args: string,
    options: RunOptions = {},
  ): Promise<string> {
    return (await this.#enqueue(task, key, { args, resultAs: 'text' }, options)) as string;
  }

  /** The same for a result that this thread need not read: a text of megabytes is not made of it. @returns JSON */
  async runAsBytes(
    task: BoundedTask<never, unknown>,
    key: TenantKey,
    args: string,
    options: RunOptions = {},
  ): Promise<Buffer> {
    return (await this.#enqueue(task, key, { args, resultAs: 'bytes' }, options)) as Buffer;
  }

  #enqueue(
    task: BoundedTask<never, unknown>,
    key: TenantKey,
    { args, resultAs }: Pick<Waiting, 'args' | 'resultAs'>,
    { waitMs = defaultWaitMs, onUsed }: RunOptions,
  ): Promise<string | Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<string | Buffer>();
    const waiting: Waiting = {
      key,
      module: task.module,
      limitMs: task.limitMs,
      memoryMb: task.memoryMb,
      isLengthy: task.isLengthy ?? false,
      args,
      resultAs,
      interrupted: 0,
      starved: 0,
      timer: undefined,
      onUsed,
      resolve,
      reject,
    };
    const mine = this.#queue.of(key);
    const bytes = mine.reduce((sum, one) => sum + one.args.length, waiting.args.length);
    if (mine.length >= waitingLimits.tasks || (mine.length > 0 && bytes > waitingLimits.bytes)) {
      return Promise.reject(new WorkQueueFull('Too much work of this organization is waiting.'));
    }
    const isStarting = [...this.#members].every(({ state }) => state === 'starting');
    this.#wait(waiting, isStarting ? Math.max(waitMs, startWaitMs) : waitMs);
    this.#start();
    this.#assign();
    return promise;
  }

  /** Gives the task back when no process was free for it within `waitMs`, and at once when the pool is closed. */
  #wait(waiting: Waiting, waitMs: number): void {
    const { key, reject } = waiting;
    if (this.#closing.signal.aborted) {
      reject(ending());
      return;
    }
    waiting.timer = setTimeout(() => {
      this.#queue.remove(key, waiting);
      reject(new WorkQueueFull('The work waited too long.'));
    }, waitMs);
    this.#queue.push(key, waiting);
  }

  /**
   * Does a piece of large work in this thread, where handing it to a process would cost as much as the work itself. See
   * `MainThreadShare`. @throws what `piece` throws
   */
  inMainThread<Result>(key: TenantKey, piece: () => Result): Promise<Result> {
    return this.#mainThread.run(key, piece);
  }

  /**
   * Does work whose cost tenants decide a few milliseconds at a time. What is done within its first part waits for nobody.
   * @throws what `parts` throws
   */
  async inMainThreadByParts<Result>(key: TenantKey, parts: Parts<Result>): Promise<Result> {
    const first = parts.next();
    return first.done ? first.value : this.#mainThread.runInParts(key, parts);
  }

  /** For long work of this thread that has done a piece of some milliseconds. See `EventLoopRounds`. */
  nextRound(): Promise<void> {
    return this.#rounds.next();
  }

  /** Ends the processes during any work. */
  close(): void {
    this.#closing.abort();
    for (const { timer, reject } of this.#queue.clear()) {
      clearTimeout(timer);
      reject(ending());
    }
    for (const { process } of this.#members) process?.kill();
    this.#members.clear();
  }

  #start(): void {
    while (this.#members.size < this.#wanted && !this.#closing.signal.aborted) this.#add();
  }

  #add(): void {
    const member: Member = { state: 'starting', tasks: 0, process: undefined };
    this.#members.add(member);
    const ready = () => {
      member.state = 'idle';
      this.#assign();
    };
    try {
      member.process = new WorkProcess(this.#modules, { ready, end: (end) => this.#remove(member, end) });
    } catch (error) {
      // Node throws, and reports nothing later, where the system has no memory for another process.
      void this.#remove(member, { wasReady: false, stderr: String(error) });
    }
  }

  async #remove(member: Member, { wasReady, stderr }: ChildEnd): Promise<void> {
    member.state = 'ended';
    if (!wasReady && !this.#closing.signal.aborted) {
      this.#log.error({ stderr }, 'a process for bounded work could not start');
      await sleep(restartAfterMs, undefined, { signal: this.#closing.signal, ref: false }).catch(() => {});
    }
    if (this.#members.delete(member)) this.#start();
  }

  /**
   * Whether an organization may have another process. Lengthy tasks of all organizations together leave one process
   * free, so that a short task waits only for short tasks. An organization leaves one process to the others, and its
   * lengthy tasks leave another to its short ones.
   */
  #isAllowed(key: TenantKey, { isLengthy }: Waiting): boolean {
    const mine = this.#running.get(key) ?? [];
    const lengthy = mine.filter((one) => one.isLengthy).length;
    // With two processes it takes the second one while its lengthy task runs: others wait until a short task has ended.
    if (!isLengthy) return mine.length - lengthy < Math.max(1, this.#processes - 1 - lengthy);
    if (mine.length >= this.#processes - 1 || lengthy >= Math.max(1, this.#processes - 2)) return false;
    const all = [...this.#running.values()].flat().filter((one) => one.isLengthy).length;
    return all < this.#processes - 1;
  }

  /** Gives waiting tasks to idle processes; starts another process if all are busy and the limit permits it. */
  #assign(): void {
    const isAllowed = (key: TenantKey, waiting: Waiting) => this.#isAllowed(key, waiting);
    for (const member of this.#members) {
      if (member.state !== 'idle') continue;
      const waiting = this.#queue.take(isAllowed);
      if (!waiting) return;
      void this.#perform(member, waiting);
    }
    if (this.#queue.has(isAllowed)) this.#addSpare();
  }

  #addSpare(): void {
    if (this.#wanted >= this.#processes || [...this.#members].some(({ state }) => state !== 'busy')) return;
    this.#wanted++;
    this.#start();
  }

  async #perform(member: Member, waiting: Waiting): Promise<void> {
    const { key, module, limitMs, memoryMb, args, resultAs } = waiting;
    clearTimeout(waiting.timer);
    member.state = 'busy';
    this.#running.set(key, [...(this.#running.get(key) ?? []), waiting]);
    const endUse = this.#used.begin(key);
    const slow = setTimeout(() => this.#addSpare(), spareAfterMs);
    try {
      const clockMs = this.#clockLimits[waiting.starved]!(limitMs);
      const answer = await member.process!.perform({ module, limitMs, clockMs, memoryMb, args, resultAs });
      member.tasks++;
      const isSpent = answer.spent || member.tasks >= tasksPerProcess;
      if (isSpent) this.#replace(member);
      else if (member.state === 'busy') member.state = 'idle';
      const mayGoOn = answer.kind === 'starved' && ++waiting.starved < this.#clockLimits.length;
      if (mayGoOn) this.#wait(waiting, againWaitMs);
      else settle(waiting, answer);
    } catch (error) {
      this.#replace(member);
      if (error instanceof WorkTooCostly) {
        this.#log.warn(
          { organizationId: key, task: basename(module, '.ts'), limit: error.limit },
          'a task was too costly',
        );
      }
      if (this.#closing.signal.aborted) waiting.reject(ending());
      else if (error instanceof WorkTooCostly || waiting.interrupted++ > 0) waiting.reject(error as Error);
      else this.#wait(waiting, againWaitMs);
    } finally {
      clearTimeout(slow);
      endUse();
      const running = this.#running.get(key)!.filter((one) => one !== waiting);
      if (running.length > 0) this.#running.set(key, running);
      else this.#running.delete(key);
      this.#assign();
    }
  }

  #replace(member: Member): void {
    member.state = 'ended';
    if (!this.#members.delete(member)) return;
    member.process?.kill();
    this.#start();
  }
}

/** @throws WorkTooCostly */
function settle(waiting: Waiting, answer: Answer): void {
  if (answer.kind === 'done') {
    waiting.onUsed?.(answer.usedMs);
    waiting.resolve(answer.result);
  } else if (answer.kind === 'failed') waiting.reject(new Error(answer.message));
  else if (answer.kind === 'starved') waiting.reject(new WorkQueueFull('The machine is too busy for this work.'));
  else throw new WorkTooCostly(answer.kind === 'too_large' ? 'result' : 'time');
}
