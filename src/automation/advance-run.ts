import type { BoundedWork } from '../platform/bounded-work/bounded-work.ts';
import type { Log } from '../platform/log.ts';
import type { Scope } from '../platform/scope.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import { isTerminal, type RunErrorCode, type TerminalStatus } from './core/run-status.ts';
import { nextStep, type Step } from './core/steps.ts';
import type { Warning } from './core/template.ts';
import { type RunEnd, recordSteps, type StepFacts, type StepRecord } from './record-run.ts';
import type { RunWaiters } from './run-waiters.ts';
import { loadRunWork, positionOf, type RunWork, StepOutputs } from './run-work.ts';
import type { Storable } from './storable.ts';

export interface RunServices {
  providers: ProviderRegistry;
  /** Evaluates expressions and checks answers. */
  boundedWork: BoundedWork;
  waiters: RunWaiters;
  log: Log;
  /** Called for every run that ends in this process. */
  countRunEnd(status: TerminalStatus): void;
}

export interface RunRef {
  runId: string;
  /** Notification channel of the process that waits for the run's end, or null. */
  waiter: string | null;
}

/**
 * What a run needs next.
 * - walk: the next step may finish at once
 * - call: the step at `position` calls a model and takes time
 * - ended: the run has ended and its end is recorded
 * - gone: the run was deleted or ended elsewhere; nothing is left to do
 */
export type RunProgress =
  | { kind: 'walk' }
  | { kind: 'call'; position: number; stepId: string }
  | { kind: 'ended'; status: 'completed' }
  | { kind: 'ended'; status: 'failed'; stepId: string }
  | { kind: 'gone' };

/** How a step ended, apart from when and where. */
export type StepEnd =
  | { status: 'completed'; output: Storable; tokensUsed?: number; warnings?: Warning[] }
  | { status: 'failed'; code: RunErrorCode; message: string; tokensUsed?: number; warnings?: Warning[] };

/** Records are written in batches. The limits bound memory and the work that a crash repeats. */
const together = { bytes: 1024 * 1024, ms: 250 };

/** Bytes of all outputs of a run. */
const maxRunOutputBytes = 32 * 1024 * 1024;

const tooLarge = {
  status: 'failed',
  code: 'output_too_large',
  message: `The outputs of this run are larger than ${maxRunOutputBytes} bytes together.`,
} as const;

/** A run in memory, between two writes to the database. */
export class AdvancingRun {
  readonly work: RunWork;
  readonly outputs: StepOutputs;
  position: number;
  readonly #services: RunServices;
  readonly #scope: Scope;
  readonly #ref: RunRef;
  #records: StepRecord[] = [];
  #bytes = 0;
  /** Of all outputs that the run has. */
  #outputBytes: number;
  #recordedAt = performance.now();

  private constructor(services: RunServices, scope: Scope, ref: RunRef, work: RunWork) {
    this.#services = services;
    this.#scope = scope;
    this.#ref = ref;
    this.work = work;
    this.outputs = new StepOutputs(scope, ref.runId, work.recorded);
    this.position = positionOf(work);
    this.#outputBytes = work.recorded.reduce((sum, { outputBytes }) => sum + outputBytes, 0);
  }

  /** @returns undefined when the run is over or gone */
  static async load(services: RunServices, scope: Scope, ref: RunRef): Promise<AdvancingRun | undefined> {
    const work = await loadRunWork(scope, ref.runId);
    return work && !isTerminal(work.status) ? new AdvancingRun(services, scope, ref, work) : undefined;
  }

  /** The current step; undefined after the last one. */
  get step(): Step | undefined {
    return this.work.steps[this.position];
  }

  get isTimeToRecord(): boolean {
    return this.#bytes > together.bytes || performance.now() - this.#recordedAt > together.ms;
  }

  /**
   * Adds the result of the current step to the next write and moves to the next step. Steps that a condition skips are
   * added too.
   * @returns the result as recorded: failed when the output exceeds what the run may hold
   */
  finishStep(facts: StepFacts, given: StepEnd): StepEnd['status'] {
    const { step, position } = facts;
    const { warnings = [], ...end } = this.#withinRun(given);
    const finishedAt = new Date();
    const ended = { ...facts, warnings, finishedAt };
    if (end.status === 'failed') {
      const { code, message, ...rest } = end;
      this.#records.push({ ...ended, ...rest, error: { stepId: step.id, message, code } });
      return 'failed';
    }
    this.#records.push({ ...ended, ...end });
    this.#bytes += end.output.bytes;
    this.#outputBytes += end.output.bytes;
    this.outputs.add(step.id, end.output.value);
    this.position = nextStep(this.work.steps, position, end.output.value);
    for (let passed = position + 1; passed < this.position; passed++) {
      const skipped = { position: passed, step: this.work.steps[passed]!, startedAt: finishedAt, finishedAt };
      this.#records.push({ ...skipped, status: 'skipped', warnings: [] });
    }
    return 'completed';
  }

  #withinRun(end: StepEnd): StepEnd {
    if (end.status === 'failed' || this.#outputBytes + end.output.bytes <= maxRunOutputBytes) return end;
    const { output: _, status: __, ...spent } = end;
    return { ...spent, ...tooLarge };
  }

  /**
   * Writes the collected results and, after the last step, the end of the run.
   * @returns `walk` unless the run has ended, also when another attempt recorded the same results before
   */
  async record(): Promise<RunProgress> {
    const last = this.#records.at(-1);
    const end: RunEnd | undefined =
      last?.status === 'failed'
        ? { status: 'failed', error: last.error }
        : this.position >= this.work.steps.length
          ? { status: 'completed' }
          : undefined;
    if (this.#records.length === 0 && !end) return { kind: 'walk' };
    const { waiters } = this.#services;
    const { runId, waiter } = this.#ref;
    // Waiters in this process are woken directly, those in another process by the NOTIFY in the transaction.
    const notify = waiter === waiters.channel ? null : waiter;
    const { steps } = this.work;
    const recorded = await recordSteps(this.#scope, { runId, steps, records: this.#records, end, notify });
    this.#records = [];
    this.#bytes = 0;
    this.#recordedAt = performance.now();
    waiters.tell(runId);
    if (!recorded || !end) return { kind: 'walk' };
    this.#services.countRunEnd(end.status);
    if (end.status === 'completed') return { kind: 'ended', status: 'completed' };
    return { kind: 'ended', status: 'failed', stepId: end.error.stepId! };
  }
}
