/**
 * A function that may be costly, and that depends on its arguments alone. It is the export `perform` of a module of its
 * own, which the processes of the pool load; arguments and result travel as JSON. Large values are files that the
 * arguments name.
 */
export interface BoundedTask<Args, Result> {
  /** URL of the module. */
  module: string;
  /** Processor time that it may take; of a function that gives a promise, time by the clock. */
  limitMs: number;
  /** Whether it often takes seconds: an organization's other tasks do not wait for as many of them as there are processes. */
  isLengthy?: boolean;
  /**
   * Megabytes that its process may occupy while a promise is awaited: libraries outside of JavaScript take memory that the
   * limit of the heap does not count.
   */
  memoryMb?: number;
  /** Only for the compiler: what `perform` takes and gives. */
  perform?: (args: Args) => Result | Promise<Result>;
}

/** Any task, where only its module matters. */
export type AnyBoundedTask = Pick<BoundedTask<never, unknown>, 'module'>;

/** The module that a task runs in exports this. */
export interface TaskModule {
  perform(args: unknown): unknown;
}

/** The request to a process of the pool. */
export interface Assignment {
  module: string;
  /** Limit of processor time. */
  limitMs: number;
  /** By the clock: when it is over, the task is cut short whatever time it had. */
  clockMs: number;
  memoryMb?: number | undefined;
  /** JSON. */
  args: string;
  /** How the result travels: as bytes where nothing but a file or another process reads it. */
  resultAs: 'text' | 'bytes';
}

/** Its answer. A process that is `spent` ends after its answer: interrupted code may leave any state behind. */
export type Answer = { spent: boolean } /** `usedMs`: of the processor. */ /** JSON. */ & (
  | { kind: 'done'; result: string | Buffer; usedMs: number }
  | { kind: 'failed'; message: string }
  | { kind: 'too_costly' }
  /** Its result has more than `maxResult`. */
  | { kind: 'too_large' }
  /** Cut short before it had the processor for as long as it may. */
  | { kind: 'starved' }
);

/**
 * The longest result, in characters of JSON, and how many objects, lists and members it may have: the caller parses it
 * on the main thread.
 */
export const maxResult = { characters: 8 * 1024 * 1024, structures: 250_000 };

/** The first message of a process, when it can take assignments. */
export const ready = 'ready';

/** The message of a process whose task gave a promise: from then on its time is that of the clock. */
export const awaits = 'awaits';

/** The signal by which a process ends itself under a task that has had the processor for as long as it may. */
export const outOfTime = 'SIGVTALRM';

const sentences = {
  time: 'It takes too long.',
  memory: 'It needs too much memory.',
  result: 'Its result is too large.',
};

/** A task reached a limit: trying again makes no sense. */
export class WorkTooCostly extends Error {
  override name = 'WorkTooCostly';
  readonly limit: 'time' | 'memory' | 'result';

  constructor(limit: 'time' | 'memory' | 'result') {
    super(sentences[limit]);
    this.limit = limit;
  }
}

/**
 * The organization's own share of the pool is used up for now, or the machine has too much else to do: the task was not
 * done, and may be tried later.
 */
export class WorkQueueFull extends Error {
  override name = 'WorkQueueFull';
}
