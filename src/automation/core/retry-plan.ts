// The parts of a run that a retry reuses, and the step at which it begins.
import { hasKey, isAnswered, type PastEnd } from './retry-keys.ts';
import { isStepDone } from './run-status.ts';
import { dottedPath, type StepPath } from './step-path.ts';
import { type ContainerStep, isContainer, isFlow } from './step-types.ts';
import { nextStep, type Step } from './steps.ts';

/** The record of a step of the run that is retried. */
export interface PastStep extends PastEnd {
  position: number;
  stepId: string;
  /** Dotted; null in a run with a single list of steps. */
  path: string | null;
  /** The output of a condition. */
  took: boolean | null;
  /** Items or branches of a container that was opened. */
  total: number | null;
  attempts: number;
  /** The run whose id its keys have, where it is an earlier one. */
  keyRunId: string | null;
}

/** A row of a step that the new run begins with. */
interface TakenStep {
  /** In the retried run. */
  position: number;
  /** In the new one. */
  as: number;
  path: string | null;
  /** A container that has not ended: what of it is taken over too, it does not execute again. */
  isOpen: boolean;
  /**
   * Whether its times are those of the copy: its list continues in the new run, and is not as old as its first step.
   */
  isNew: boolean;
}

export interface RetryPlan {
  /** Position in the run's own list. */
  position: number;
  taken: TakenStep[];
  /** By dotted path: runs whose ids stay in the keys of steps. */
  keys: Record<string, string>;
}

/** A step that a retry cannot begin with. */
export class RetryRefused extends Error {
  override name = 'RetryRefused';
  readonly field: 'fromStep' | 'path';

  constructor(field: 'fromStep' | 'path', message: string) {
    super(message);
    this.field = field;
  }
}

interface PastRun {
  id: string;
  hasCompleted: boolean;
  recorded: readonly PastStep[];
  /** As in `RetryPlan`, of the run itself. */
  keys: Readonly<Record<string, string>>;
  /** Whether the content of a container of the run's own list is unchanged. */
  isUnchanged(step: ContainerStep): boolean;
  /** Whether a cancellation of a step also cancels the work that it requested. */
  cancelsJob(step: Step): boolean;
}

const notDone = (id: string) =>
  new RetryRefused('fromStep', `The step "${id}", which comes before it, has not completed.`);

/** Collects the parts of a run that its retry reuses. */
class Planner {
  readonly #past: PastRun;
  readonly #byPath = new Map<string, PastStep>();
  /** Keys of the recorded children of containers, by the containers' dotted paths. */
  readonly #children = new Map<string, Set<string>>();
  /**
   * Dotted paths of steps that have ended; everything within them is reused too. The value says whether the list of
   * each continues.
   */
  readonly #kept = new Map<string, boolean>();
  readonly #open = new Set<string>();

  constructor(past: PastRun) {
    this.#past = past;
    for (const step of past.recorded) {
      const path = step.path ?? step.stepId;
      this.#byPath.set(path, step);
      const parts = path.split('.');
      for (let at = 1; at < parts.length; at += 2) {
        const container = parts.slice(0, at).join('.');
        const children = this.#children.get(container) ?? new Set();
        this.#children.set(container, children.add(parts[at]!));
      }
    }
  }

  /** Takes over everything that has ended. @returns the first position that has not */
  keepDone(steps: readonly Step[]): number {
    const { open, done } = this.#follow(steps, '');
    // Every step of the current definition can have a result already: the last one is executed again.
    const position = open < steps.length ? open : (done.at(-1) ?? 0);
    this.#keep(steps, '', done, true, position);
    const step = steps[position];
    if (open < steps.length && step && isContainer(step) && this.#past.isUnchanged(step)) {
      this.#keepWithin(step, step.id);
    }
    return position;
  }

  /** Reuses everything before a step. @returns the position in the outermost list. @throws RetryRefused */
  keepBefore(steps: readonly Step[], path: StepPath): number {
    const position = this.#before(steps, '', path[0]!);
    let step = steps[position]!;
    for (let at = 1; at < path.length; at += 2) {
      const key = dottedPath(path.slice(0, at));
      const list = this.#enter(step, key, path[at]!, at === 1);
      const inside = this.#before(list, `${key}.${path[at]}.`, path[at + 1] ?? '');
      step = list[inside]!;
    }
    return position;
  }

  /** The rows of a flow, in the order in which they began. */
  rows(): TakenStep[] {
    const taken: TakenStep[] = [];
    for (const past of [...this.#past.recorded].sort((one, other) => one.position - other.position)) {
      const path = past.path ?? past.stepId;
      const isOpen = this.#open.has(path);
      if (!isOpen && !this.#isKept(path)) continue;
      const isNew = isOpen || this.#kept.get(path) === true;
      taken.push({ position: past.position, as: taken.length, path, isOpen, isNew });
    }
    return taken;
  }

  /** See `RetryPlan`. */
  keys(steps: ReadonlyMap<string, Step>): Record<string, string> {
    const { id, keys, cancelsJob } = this.#past;
    const found: [string, string][] = [];
    const paths = new Set([...this.#byPath.keys(), ...Object.keys(keys)]);
    for (const path of paths) {
      const step = steps.get(path.slice(path.lastIndexOf('.') + 1));
      if (!step || !hasKey(step) || this.#isKept(path)) continue;
      const past = this.#byPath.get(path);
      const wasAttempted = past?.path && past.attempts > 0;
      const key = wasAttempted ? (past.keyRunId ?? id) : keys[path];
      if (key !== undefined && !(wasAttempted && isAnswered(step, past, cancelsJob(step)))) found.push([path, key]);
    }
    return Object.fromEntries(found);
  }

  #isKept(path: string): boolean {
    for (let end = path.length; end > 0; end = path.lastIndexOf('.', end - 1)) {
      if (this.#kept.has(path.slice(0, end))) return true;
    }
    return false;
  }

  /** The executed steps of a list up to the first that has not completed, or to before a position. */
  #follow(steps: readonly Step[], prefix: string, end = steps.length): { open: number; done: number[] } {
    const done: number[] = [];
    let position = 0;
    while (position < end) {
      const past = this.#byPath.get(`${prefix}${steps[position]!.id}`);
      if (past?.status !== 'completed') break;
      done.push(position);
      position = nextStep(steps, position, past.took);
    }
    return { open: position, done };
  }

  #keep(steps: readonly Step[], prefix: string, done: readonly number[], goesOn: boolean, end = steps.length): void {
    for (const at of done) if (at < end) this.#kept.set(`${prefix}${steps[at]!.id}`, goesOn);
  }

  /** Reuses everything that ended within a container of any type. @returns whether there is any */
  #keepWithin(step: ContainerStep, key: string): boolean {
    let isAny = false;
    for (const child of this.#children.get(key) ?? []) {
      const list = childOf(step, child);
      if (!list) continue;
      const prefix = `${key}.${child}.`;
      const { open, done } = this.#follow(list, prefix);
      this.#keep(list, prefix, done, open < list.length);
      const next = list[open];
      const hasMore = next !== undefined && isContainer(next) && this.#keepWithin(next, `${prefix}${next.id}`);
      isAny ||= hasMore || done.length > 0;
    }
    if (isAny) this.#open.add(key);
    return isAny;
  }

  /** Takes over the children of a container that completed, but for one. @returns the list of that one */
  #enter(step: Step, key: string, child: string | number, isOutermost: boolean): readonly Step[] {
    const refused = (message: string) => new RetryRefused('path', message);
    if (!isContainer(step)) throw refused(`The step "${step.id}" has no steps within.`);
    if (isOutermost && !this.#past.isUnchanged(step)) {
      throw refused(`The step "${step.id}" was changed since: retry the run from it.`);
    }
    const { total = null } = this.#byPath.get(key) ?? {};
    if (total === null && !this.#children.has(key)) throw refused(`The run did not reach the steps within "${key}".`);
    const wanted = childOf(step, child);
    if (!wanted || (step.type === 'map' && total !== null && Number(child) >= total)) {
      throw refused(`The step "${key}" has no ${step.type === 'map' ? 'item' : 'branch'} "${child}".`);
    }
    this.#open.add(key);
    for (const other of this.#children.get(key) ?? []) {
      const list = childOf(step, other);
      if (!list || other === String(child)) continue;
      const prefix = `${key}.${other}.`;
      const { open, done } = this.#follow(list, prefix);
      if (open >= list.length) this.#keep(list, prefix, done, false);
    }
    return wanted;
  }

  /** Takes over the steps of a list before one. @returns its position */
  #before(steps: readonly Step[], prefix: string, id: string | number): number {
    const position = steps.findIndex((step) => step.id === id);
    if (position < 0) {
      throw prefix === ''
        ? new RetryRefused(
            'fromStep',
            'The definition has no step of this id in its own list. `path` names one within others.',
          )
        : new RetryRefused('path', `There is no step "${prefix}${id}".`);
    }
    const { open, done } = this.#follow(steps, prefix, position);
    if (open < position) throw notDone(steps[open]!.id);
    this.#keep(steps, prefix, done, true);
    return position;
  }
}

function childOf(step: ContainerStep, child: string | number): readonly Step[] | undefined {
  if (step.type === 'parallel') return step.branches.find(({ id }) => id === child)?.steps;
  return Number.isInteger(Number(child)) ? step.steps : undefined;
}

/** Where a list of steps without others begins. Every step before it must have a result. */
function beginning(steps: readonly Step[], past: PastRun, from: string | undefined): number {
  const done = new Set(
    past.recorded.filter((step) => isStepDone(step.status)).map(({ path, stepId }) => path ?? stepId),
  );
  const firstOpen = steps.findIndex(({ id }) => !done.has(id));
  if (from === undefined) return firstOpen >= 0 ? firstOpen : Math.max(steps.length - 1, 0);
  const position = steps.findIndex(({ id }) => id === from);
  if (position < 0) throw new RetryRefused('fromStep', 'The definition has no step of this id.');
  if (firstOpen >= 0 && position > firstOpen) throw notDone(steps[firstOpen]!.id);
  return position;
}

function planList(steps: readonly Step[], past: PastRun, from: string | undefined): RetryPlan {
  const position = beginning(steps, past, from);
  const byId = new Map(past.recorded.map((step) => [step.path ?? step.stepId, step]));
  const taken = steps.slice(0, position).flatMap(({ id }, as): TakenStep[] => {
    const found = byId.get(id);
    if (!found || !isStepDone(found.status)) return [];
    return [{ position: found.position, as, path: null, isOpen: false, isNew: true }];
  });
  return { position, taken, keys: {} };
}

/**
 * The parts that a retry reuses. In containers that did not end it reuses what ended within them, unless they were
 * changed.
 * @param steps the new run's
 * @param from ids and indexes from the top to the step to begin with; by default the first one that did not complete
 * @throws RetryRefused
 */
export function planRetry(
  steps: readonly Step[],
  byId: ReadonlyMap<string, Step>,
  past: PastRun,
  from: StepPath | undefined,
): RetryPlan {
  if (from === undefined && past.hasCompleted) {
    throw new RetryRefused('fromStep', 'The run has completed: name the step to start from.');
  }
  if (!isFlow(steps)) {
    if (from && from.length > 1) throw new RetryRefused('path', `The step "${from[0]}" has no steps within.`);
    return planList(steps, past, from && String(from[0]));
  }
  const planner = new Planner(past);
  const position = from ? planner.keepBefore(steps, from) : planner.keepDone(steps);
  return { position, taken: planner.rows(), keys: planner.keys(byId) };
}
