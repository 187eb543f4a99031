// Decides the next steps of a flow. It knows which steps ended and how, but not their values.
import { type Finished, type FlowError, FlowRecords, type RecordedStep } from './flow-records.ts';
import { leavesIn, leavesOf } from './flow-sizes.ts';
import { dottedPath, type StepPath } from './step-path.ts';
import { type ContainerStep, containerConcurrency, isContainer, type LeafStep } from './step-types.ts';
import { nextStep, type Step } from './steps.ts';

export type { Finished, FlowError, RecordedStep } from './flow-records.ts';

/** A map around a step, and the item that the step belongs to. */
export interface ItemScope {
  /** The map's. */
  path: StepPath;
  index: number;
  total: number;
}

export interface ReadyLeaf {
  path: StepPath;
  step: LeafStep;
  /** The maps around it, outermost first. */
  scopes: readonly ItemScope[];
}

/** What became of a branch or an item. */
export interface ResultShape {
  /** The branch's id, or the item's index. */
  key: string | number;
  status: 'completed' | 'failed' | 'skipped' | 'cancelled';
  /**
   * The step whose output becomes that of the result: the last executed step that is not a condition. Null if there is
   * none, or if the status is not `completed`.
   */
  output: StepPath | null;
  /** The first and the last executed step of its list. Its duration is from the start of one to the end of the other. */
  first: StepPath | null;
  last: StepPath | null;
  error: FlowError | null;
}

export type Todo =
  /** Execute it, then call `finished`. */
  | { kind: 'leaf'; leaf: ReadyLeaf }
  /** A container begins: call `opened` with the number of its items or branches, or `finished` if that fails. */
  | { kind: 'open'; path: StepPath; step: ContainerStep; scopes: readonly ItemScope[] }
  /** All of it ended: make its output of the results, then call `closed`, or `finished` if that fails. */
  | {
      kind: 'close';
      path: StepPath;
      step: ContainerStep;
      status: 'completed' | 'failed' | 'cancelled';
      results: readonly ResultShape[];
      error?: FlowError | undefined;
    }
  /** Stop these leaves, then call `finished` for each with `cancelled`, or with how it ended before. */
  | { kind: 'cancel'; paths: StepPath[] }
  | { kind: 'end'; status: 'completed'; result: StepPath | null }
  | { kind: 'end'; status: 'failed'; error: FlowError };

/** A list of steps in execution: the run's own, a branch's, or an item's. */
interface List {
  steps: readonly Step[];
  path: StepPath;
  scopes: readonly ItemScope[];
  /** The container that it belongs to, and its place there; absent for the run's own. */
  within?: { container: Task; index: number; key: string | number };
  position: number;
  /** Nothing new begins in it. */
  isStopped: boolean;
  current?: Task | undefined;
  first: StepPath | null;
  last: StepPath | null;
  output: StepPath | null;
}

/** A container between `opened` and its end. */
interface Inside {
  total: number;
  /** Index of the first child that may not have begun. */
  next: number;
  /** Children whose records were there. */
  begun: ReadonlyMap<string | number, number>;
  active: Set<List>;
  results: (ResultShape | undefined)[];
  /** The first failure of a container that fails fast. */
  failure?: FlowError | undefined;
  isStopped: boolean;
  /** While children begin or stop, their ends are looked at afterwards. */
  isBusy: boolean;
}

/** The step that a list has come to. */
interface Task {
  list: List;
  step: Step;
  path: StepPath;
  key: string;
  /** `opening` and `closing`: handed out, and waiting for `opened` or `closed`. */
  state: 'queued' | 'out' | 'opening' | 'inside' | 'toClose' | 'closing' | 'dropped';
  /** Its row says that it runs. */
  wasRunning: boolean;
  inside?: Inside;
}

/**
 * Walks a definition. Each finished step costs the same however large the flow is. A new walk of the same records
 * continues where the earlier walk stopped, and hands out again the steps that the earlier walk handed out and that
 * have no record.
 */
export class FlowWalk {
  readonly #records: FlowRecords;
  readonly #open = new Set<string>();
  /** The steps that were handed out, containers included. */
  readonly #tasks = new Map<string, Task>();
  #queue: Task[] = [];
  #head = 0;
  #cancels: StepPath[] = [];
  #end: Todo | undefined;
  #finished = 0;
  #known: number;

  private constructor(steps: readonly Step[], records: FlowRecords) {
    this.#records = records;
    this.#known = leavesIn(steps);
    this.#proceed(newList(steps, [], []));
  }

  /**
   * @param recorded in any order, but finished steps in the order in which they ended: the first failure is a container's
   */
  static of(steps: readonly Step[], recorded: Iterable<RecordedStep> = []): FlowWalk {
    return new FlowWalk(steps, new FlowRecords(steps, recorded));
  }

  /** Leaves that were handed out and have not finished, including waiting ones. */
  get open(): ReadonlySet<string> {
    return this.#open;
  }

  /** Leaves that are finished or will not be executed, and those known. `known` grows when a map is opened. */
  get progress(): { finished: number; known: number } {
    return { finished: this.#finished, known: this.#known };
  }

  /**
   * Returns the steps that can begin now and were not handed out before, within the concurrency of containers. A step
   * whose record says that it is running is handed out again; a waiting step is not.
   */
  take(max: number): Todo[] {
    const todos: Todo[] = [];
    const paths = this.#cancels.filter((path) => this.#open.has(dottedPath(path)));
    this.#cancels = [];
    if (paths.length > 0) todos.push({ kind: 'cancel', paths });
    while (todos.length < max && this.#head < this.#queue.length) {
      const task = this.#queue[this.#head++]!;
      if (task.state !== 'dropped') todos.push(this.#handOut(task));
    }
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
    }
    if (this.#end && todos.length < max) {
      todos.push(this.#end);
      this.#end = undefined;
    }
    return todos;
  }

  /**
   * A leaf ended, or a container failed to open or to close. A leaf that was to be cancelled and had not begun ends
   * with `skipped`.
   * @returns false if the step is not open; nothing changes then
   */
  finished(path: StepPath, result: Finished): boolean {
    const task = this.#tasks.get(dottedPath(path));
    if (!task || task.state === 'inside' || task.state === 'toClose') return false;
    if (task.state === 'opening') this.#finished += leavesOf(task.step);
    if (result.status === 'skipped') {
      this.#neverRan(task);
      return true;
    }
    if (!isContainer(task.step)) this.#finished++;
    this.#settle(task, result);
    return true;
  }

  /** A leaf that was handed out is to be executed anew. @returns false if it is not open, or is to be cancelled */
  again(path: StepPath): boolean {
    const task = this.#tasks.get(dottedPath(path));
    if (task?.state !== 'out' || task.list.isStopped) return false;
    this.#tasks.delete(task.key);
    this.#open.delete(task.key);
    task.state = 'queued';
    task.wasRunning = true;
    this.#queue.push(task);
    return true;
  }

  /** A container has `total` items or branches. @returns false if it is not being opened */
  opened(path: StepPath, total: number): boolean {
    const task = this.#tasks.get(dottedPath(path));
    if (task?.state !== 'opening') return false;
    // A retry takes over what ended within a container, and opens it anew.
    this.#enter(task, total, this.#records.begunIn(task.key));
    return true;
  }

  /**
   * Records that the output of the container was written; it ended as its `close` said. @returns false if it is not
   * being closed
   */
  closed(path: StepPath): boolean {
    const task = this.#tasks.get(dottedPath(path));
    if (task?.state !== 'closing') return false;
    this.#settle(task, endOf(task.inside!));
    return true;
  }

  #handOut(task: Task): Todo {
    const { list, step, path, key } = task;
    if (task.state === 'toClose') {
      task.state = 'closing';
      const { status, error } = endOf(task.inside!);
      const results = task.inside!.results as ResultShape[];
      return { kind: 'close', path, step: step as ContainerStep, status, results, error };
    }
    list.first ??= path;
    this.#tasks.set(key, task);
    if (isContainer(step)) {
      task.state = 'opening';
      return { kind: 'open', path, step, scopes: list.scopes };
    }
    task.state = 'out';
    this.#open.add(key);
    return { kind: 'leaf', leaf: { path, step, scopes: list.scopes } };
  }

  /** Takes a list to its next step that is not recorded as finished, or to its end. */
  #proceed(list: List): void {
    for (;;) {
      const step = list.steps[list.position];
      if (!step) {
        this.#endList(list, 'completed');
        return;
      }
      const path = [...list.path, step.id];
      const key = dottedPath(path);
      const record = this.#records.get(key);
      if (!record && list.isStopped) {
        this.#endList(list, list.first ? 'cancelled' : 'skipped');
        return;
      }
      const task: Task = { list, step, path, key, state: 'queued', wasRunning: record !== undefined };
      if (!record) {
        this.#enqueue(task);
        return;
      }
      list.first ??= path;
      if (!isFinished(record)) {
        this.#resume(task, record);
        return;
      }
      const within = this.#records.growthWithin(key);
      this.#known += within;
      this.#finished += leavesOf(step) + within;
      if (!this.#advance(list, task, record)) return;
    }
  }

  #enqueue(task: Task): void {
    task.list.current = task;
    this.#queue.push(task);
  }

  /** Continues a step whose record says that it is running or waiting. */
  #resume(task: Task, { status, total }: RecordedStep): void {
    const { list, step, key } = task;
    list.current = task;
    if (isContainer(step)) {
      if (total === undefined) this.#enqueue(task);
      else {
        this.#tasks.set(key, task);
        this.#enter(task, total, this.#records.begunIn(key));
      }
    } else if (status === 'running' && !list.isStopped) {
      this.#enqueue(task);
    } else {
      task.state = 'out';
      this.#tasks.set(key, task);
      this.#open.add(key);
      if (list.isStopped) this.#cancels.push(task.path);
    }
  }

  /** A step was handed out, and its list was stopped before it began. */
  #neverRan({ list, key, path }: Task): void {
    this.#tasks.delete(key);
    this.#open.delete(key);
    list.current = undefined;
    if (list.first === path) list.first = null;
    this.#endList(list, list.first ? 'cancelled' : 'skipped');
  }

  /** The current step of a list ended. */
  #settle(task: Task, result: Finished): void {
    this.#tasks.delete(task.key);
    this.#open.delete(task.key);
    task.list.current = undefined;
    if (this.#advance(task.list, task, result)) this.#proceed(task.list);
  }

  /** Moves a list behind a step that ended. @returns false if the list ended with it */
  #advance(list: List, { step, path }: Task, { status, took, error }: Finished): boolean {
    list.last = path;
    const passed = list.position + 1;
    list.position = passed;
    if (status === 'failed' || status === 'cancelled') {
      this.#endList(list, status, error);
      return false;
    }
    if (step.type !== 'condition') {
      if (status === 'completed') list.output = path;
      return true;
    }
    list.position = nextStep(list.steps, passed - 1, took);
    this.#finished += leavesIn(list.steps, passed, list.position);
    return true;
  }

  #endList(list: List, status: ResultShape['status'], error?: FlowError): void {
    this.#finished += leavesIn(list.steps, list.position);
    const { within, first, last } = list;
    const output = status === 'completed' ? list.output : null;
    if (!within) {
      if (status === 'completed') this.#end = { kind: 'end', status, result: output };
      if (status === 'failed') this.#end = { kind: 'end', status, error: error! };
      return;
    }
    const { container, index, key } = within;
    const inside = container.inside!;
    inside.active.delete(list);
    inside.results[index] = { key, status, output, first, last, error: error ?? null };
    if (status === 'failed' && failsFast(container.step as ContainerStep) && !inside.failure) {
      inside.failure = this.#records.firstFailureIn(container.key) ?? error!;
      this.#stopInside(inside);
    }
    this.#fill(container);
  }

  /** Gives a container its children: those with records continue first, then others begin. */
  #enter(task: Task, total: number, begun: Inside['begun']): void {
    const { list, step } = task;
    const inside: Inside = {
      total,
      next: 0,
      begun,
      active: new Set(),
      results: new Array(total),
      isStopped: list.isStopped,
      isBusy: true,
    };
    task.inside = inside;
    task.state = 'inside';
    list.current = task;
    if (step.type === 'map') this.#known += (total - 1) * leavesIn(step.steps);
    for (const index of begun.values()) if (index < total) this.#begin(task, inside, index);
    inside.isBusy = false;
    this.#fill(task);
  }

  #begin(container: Task, inside: Inside, index: number): void {
    const { steps, key } = childOf(container.step as ContainerStep, index);
    const { list, path } = container;
    const scopes = container.step.type === 'map' ? [...list.scopes, { path, index, total: inside.total }] : list.scopes;
    const child = newList(steps, [...path, key], scopes);
    child.within = { container, index, key };
    child.isStopped = inside.isStopped;
    inside.active.add(child);
    this.#proceed(child);
  }

  /** Begins as many children of a container as may run, and ends it when all have ended. */
  #fill(container: Task): void {
    const inside = container.inside!;
    if (inside.isBusy || container.state !== 'inside') return;
    const step = container.step as ContainerStep;
    const concurrency = step.concurrency ?? containerConcurrency.byDefault;
    inside.isBusy = true;
    while (!inside.isStopped && inside.next < inside.total && inside.active.size < concurrency) {
      const index = inside.next++;
      if (!inside.begun.has(childOf(step, index).key)) this.#begin(container, inside, index);
    }
    inside.isBusy = false;
    if (inside.active.size > 0 || (!inside.isStopped && inside.next < inside.total)) return;
    for (let index = 0; index < inside.total; index++) {
      if (inside.results[index]) continue;
      const { steps, key } = childOf(step, index);
      this.#finished += leavesIn(steps);
      inside.results[index] = { key, status: 'skipped', output: null, first: null, last: null, error: null };
    }
    container.state = 'toClose';
    this.#queue.push(container);
  }

  /** Nothing new begins in a container, and what runs is to be cancelled. */
  #stopInside(inside: Inside): void {
    const wasBusy = inside.isBusy;
    inside.isStopped = true;
    inside.isBusy = true;
    for (const list of inside.active) this.#stop(list);
    inside.isBusy = wasBusy;
  }

  #stop(list: List): void {
    if (list.isStopped) return;
    list.isStopped = true;
    const task = list.current;
    if (!task) return;
    const { step, state } = task;
    if (state === 'inside') {
      this.#stopInside(task.inside!);
      this.#fill(task);
    } else if (state === 'out') {
      this.#cancels.push(task.path);
    } else if (state === 'queued' && !task.wasRunning) {
      task.state = 'dropped';
      list.current = undefined;
      this.#endList(list, list.first ? 'cancelled' : 'skipped');
    } else if (state === 'queued' && !isContainer(step)) {
      // Its record says that it runs: it has to end.
      task.state = 'dropped';
      const again: Task = { ...task, state: 'out' };
      list.current = again;
      this.#tasks.set(task.key, again);
      this.#open.add(task.key);
      this.#cancels.push(task.path);
    }
  }
}

const isFinished = (record: RecordedStep): record is RecordedStep & Finished =>
  record.status !== 'running' && record.status !== 'waiting';

const newList = (steps: readonly Step[], path: StepPath, scopes: readonly ItemScope[]): List => ({
  steps,
  path,
  scopes,
  position: 0,
  isStopped: false,
  first: null,
  last: null,
  output: null,
});

const failsFast = ({ mode }: ContainerStep): boolean => mode !== 'settled';

const childOf = (step: ContainerStep, index: number): { steps: readonly Step[]; key: string | number } => {
  if (step.type === 'map') return { steps: step.steps, key: index };
  const { id, steps } = step.branches[index]!;
  return { steps, key: id };
};

/**
 * The end of a container whose children have ended. A container that was stopped from outside is cancelled, unless all
 * its children completed.
 */
function endOf({ failure, results }: Inside): {
  status: 'completed' | 'failed' | 'cancelled';
  error?: FlowError;
} {
  if (failure) return { status: 'failed', error: failure };
  const isCut = results.some((one) => one?.status === 'skipped' || one?.status === 'cancelled');
  return { status: isCut ? 'cancelled' : 'completed' };
}
