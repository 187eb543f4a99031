import { leavesIn } from './flow-sizes.ts';
import type { RunError } from './run-status.ts';
import { dottedPath, type StepPath } from './step-path.ts';
import { isContainer, listsOf } from './step-types.ts';
import type { Step } from './steps.ts';

export type FlowError = RunError & { stepId: string };

/** How a step ended. */
export interface Finished {
  status: 'completed' | 'failed' | 'cancelled' | 'skipped';
  /** Whether a condition held. Absent for other steps. */
  took?: boolean | undefined;
  /** Why a step failed. Absent for other ends. */
  error?: FlowError | undefined;
}

/** The record of a step. `total` is that of an opened container. */
export type RecordedStep = { path: StepPath; total?: number | undefined } & (
  | Finished
  | { status: 'running' | 'waiting' }
);

/** Every step of a definition by its id, which is unique in it. */
function stepsById(steps: readonly Step[], found = new Map<string, Step>()): Map<string, Step> {
  for (const step of steps) {
    found.set(step.id, step);
    if (isContainer(step)) for (const list of listsOf(step)) stepsById(list, found);
  }
  return found;
}

/** The containers around a step, outermost first, each with the key of the child that the step is in. */
function* containersAround(path: StepPath): Generator<{ key: string; child: string | number; isDirect: boolean }> {
  for (let at = 1; at < path.length; at += 2) {
    yield { key: dottedPath(path.slice(0, at)), child: path[at]!, isDirect: at + 2 === path.length };
  }
}

/** The data of the records that a walk reads when the run is loaded. */
export class FlowRecords {
  readonly #byKey = new Map<string, RecordedStep>();
  readonly #begun = new Map<string, Map<string | number, number>>();
  readonly #failures = new Map<string, FlowError>();
  readonly #growth = new Map<string, number>();

  constructor(steps: readonly Step[], recorded: Iterable<RecordedStep>) {
    let byId: Map<string, Step> | undefined;
    for (const record of recorded) {
      if (record.status === 'skipped') continue;
      byId ??= stepsById(steps);
      const { path, total } = record;
      const key = dottedPath(path);
      this.#byKey.set(key, record);
      for (const { key: container, child, isDirect } of containersAround(path)) {
        this.#markBegun(container, child, byId);
        if (isDirect && record.status === 'failed' && record.error && !this.#failures.has(container)) {
          this.#failures.set(container, record.error);
        }
      }
      const step = byId.get(String(path.at(-1)));
      if (total !== undefined && step?.type === 'map') this.#grow(path, (total - 1) * leavesIn(step.steps));
    }
  }

  get(key: string): RecordedStep | undefined {
    return this.#byKey.get(key);
  }

  /** Indexes of the recorded children of a container, by their keys. */
  begunIn(container: string): ReadonlyMap<string | number, number> {
    return this.#begun.get(container) ?? new Map();
  }

  /** The failure that ended a child of a container first. */
  firstFailureIn(container: string): FlowError | undefined {
    return this.#failures.get(container);
  }

  /** By how many leaves the maps within a container, itself included, grew when they were opened. */
  growthWithin(container: string): number {
    return this.#growth.get(container) ?? 0;
  }

  #grow(path: StepPath, leaves: number): void {
    for (let at = 1; at <= path.length; at += 2) {
      const key = dottedPath(path.slice(0, at));
      this.#growth.set(key, (this.#growth.get(key) ?? 0) + leaves);
    }
  }

  #markBegun(container: string, child: string | number, byId: ReadonlyMap<string, Step>): void {
    const begun = this.#begun.get(container) ?? new Map<string | number, number>();
    if (begun.has(child)) return;
    this.#begun.set(container, begun);
    const step = byId.get(container.slice(container.lastIndexOf('.') + 1));
    const index = step?.type === 'parallel' ? step.branches.findIndex(({ id }) => id === child) : Number(child);
    if (index >= 0) begun.set(child, index);
  }
}
