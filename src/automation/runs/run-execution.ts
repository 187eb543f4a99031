import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { clock } from '../../platform/clock.ts';
import type { Waiters } from '../../platform/concurrency/waiters.ts';
import type { Scope } from '../../platform/database/scope.ts';
import type { Log } from '../../platform/observability/log.ts';
import type { StepKinds } from '../../platform/parts/step-kind.ts';
import type { Sealer } from '../../platform/security/crypto.ts';
import type { ProviderRegistry } from '../../providers/index.ts';
import type { Files } from '../../storage/index.ts';
import { isTerminal, type RunError, type RunErrorCode, type TerminalStatus } from '../core/run-status.ts';
import type { LinearStep } from '../core/step-types.ts';
import { nextStep } from '../core/steps.ts';
import { limitWarnings } from '../core/template.ts';
import { admitNext } from '../starts/admission.ts';
import type { StepTexts } from '../step-texts/step-texts.ts';
import type { StepContext, StepEnd, StepFault, StoredValues } from '../steps/step-context.ts';
import { OutputSpace, StepOutputs, valuesOfOutputs } from '../steps/step-outputs.ts';
import type { ActiveRunLimiter } from './active-run-limiter.ts';
import {
  loadRunWork,
  positionOf,
  type RunEnd,
  type RunWork,
  readOutputs,
  recordSteps,
  type StepFacts,
  type StepRecord,
  sizesOf,
} from './run-records.ts';

export interface RunServices {
  activeRuns: ActiveRunLimiter;
  providers: ProviderRegistry;
  /** Evaluates expressions and checks answers. */
  boundedWork: BoundedWork;
  /** Seals the links of approvals. */
  sealer: Sealer;
  /** Executes steps of type `action`. */
  stepKinds: Pick<StepKinds, 'get' | 'cancelJob'>;
  /** For large outputs. */
  files: Files;
  waiters: Waiters;
  /** The text that models write, for readers during the run. */
  stepTexts: StepTexts;
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
 * - tools: the model of the step at `position` calls these tools, and is called again after them. Round 0: the tools of the
 *   step's servers must be listed before the first call of the model
 * - wait: as `call`, but the organization is at its limit of runs that call out: the workflow is signalled when it has a slot
 * - ended: the run has ended and its end is recorded
 * - gone: the run was deleted or ended elsewhere; nothing is left to do
 */
export type RunProgress =
  | { kind: 'walk' }
  | { kind: 'call'; position: number; stepId: string }
  | { kind: 'tools'; position: number; stepId: string; round: number; calls: number[] }
  | { kind: 'wait'; position: number; stepId: string }
  | { kind: 'ended'; status: 'completed' }
  | { kind: 'ended'; status: 'failed'; stepId: string; code: RunErrorCode }
  | { kind: 'gone' };

/** Records are written in batches. The limits bound memory and the work that a crash repeats. */
const together = { bytes: 1024 * 1024, ms: 250 };

/** A run in memory, between two writes to the database. */
export class RunExecution {
  readonly work: RunWork;
  readonly outputs: StepOutputs;
  position: number;
  /**
   * False once another attempt has recorded the same steps, or has restarted a step that this one was executing: a
   * superseded attempt does not continue the run.
   */
  ownsRun = true;
  readonly #services: RunServices;
  readonly #scope: Scope;
  readonly #ref: RunRef;
  #records: StepRecord[] = [];
  #bytes = 0;
  readonly #space: OutputSpace;
  #recordedAt = performance.now();

  private constructor(services: RunServices, scope: Scope, ref: RunRef, work: RunWork) {
    this.#services = services;
    this.#scope = scope;
    this.#ref = ref;
    this.work = work;
    this.outputs = new StepOutputs(services.files, (ids) => readOutputs(scope, ref.runId, ids), sizesOf(work.recorded));
    this.position = positionOf(work);
    const loadedBytes = work.recorded.reduce((sum, { outputBytes }) => sum + outputBytes, 0);
    this.#space = new OutputSpace(services.files, scope, ref.runId, work, loadedBytes);
  }

  /** @returns undefined when the run is over or gone */
  static async load(services: RunServices, scope: Scope, ref: RunRef): Promise<RunExecution | undefined> {
    const work = await loadRunWork(scope, ref.runId);
    return work && !isTerminal(work.status) ? new RunExecution(services, scope, ref, work) : undefined;
  }

  /** The current step; undefined after the last one. */
  get step(): LinearStep | undefined {
    return this.work.steps[this.position];
  }

  /** Why no step can add an output, where the organization keeps as much as its plan includes. */
  get storageFault(): StepFault | undefined {
    return this.#space.fault;
  }

  /** The data of the run that the execution of the current step needs. */
  get context(): StepContext {
    const { runId } = this.#ref;
    const { position, work } = this;
    const { byDefault, input, variables } = work;
    const storedValues = async (steps: ReadonlySet<string> | 'all'): Promise<StoredValues> => ({
      input,
      variables,
      steps: await this.outputs.of(steps),
    });
    const values = async (steps: ReadonlySet<string> | 'all') => ({
      input,
      variables,
      steps: valuesOfOutputs(await this.outputs.of(steps)),
    });
    return { runId, position, byDefault, actionKey: `step-${runId}-${position}`, values, storedValues };
  }

  get isTimeToRecord(): boolean {
    return this.#bytes > together.bytes || performance.now() - this.#recordedAt > together.ms;
  }

  /**
   * Adds the result of the current step to the next write and moves to the next step. Steps that a condition skips are
   * added too. A large output is stored first.
   * @param isLast whether a storage that is not available fails the step, as one that is full does in any case
   * @returns the result as recorded: failed also when the output exceeds what the run may hold
   * @throws StorageFailure while the storage is not available; the run is as it was then
   */
  async finishStep(facts: StepFacts, given: StepEnd, isLast = false): Promise<StepEnd['status']> {
    const { step, position } = facts;
    const { warnings = [], file, ...end } = await this.#space.keep(given, isLast);
    const finishedAt = clock.date();
    const ended = { ...facts, ...limitWarnings(warnings), finishedAt };
    if (end.status === 'failed') {
      const { code, message, fault, ...rest } = end;
      const error: RunError = { stepId: step.id, message, code };
      if (fault) error.fault = fault;
      this.#records.push({ ...ended, ...rest, error });
      return 'failed';
    }
    const { bytes, json } = end.output;
    this.#records.push({ ...ended, ...end, output: file ? { bytes, file } : { bytes, json } });
    if (!file) this.#bytes += bytes;
    this.outputs.add(step.id, end.output);
    this.position = nextStep(this.work.steps, position, json === 'true');
    for (let passed = position + 1; passed < this.position; passed++) {
      const skipped = { position: passed, step: this.work.steps[passed]!, startedAt: finishedAt, finishedAt };
      this.#records.push({ ...skipped, status: 'skipped', warnings: [], warningsTotal: 0 });
    }
    return 'completed';
  }

  /** A slot that is not given on now is given on by the entry that the end of the run wrote. */
  async #giveSlotOn(): Promise<void> {
    const { concurrencyGroup } = this.work;
    if (!concurrencyGroup) return;
    await admitNext(this.#scope, concurrencyGroup).catch((error) => {
      this.#services.log.warn({ err: error, concurrencyGroup }, 'the slot of a run was not given to the next one');
    });
  }

  /** Places that are not given now are given when the totals are looked at. */
  async #letInNext(waiting: number | null): Promise<void> {
    if (waiting === null) return;
    const { activeRuns, log } = this.#services;
    const { runId } = this.#ref;
    await activeRuns.released(this.#scope, runId, waiting).catch((error) => {
      log.warn({ err: error, runId }, 'the slot of a run that calls out was not given to the next one');
    });
  }

  /** Notifies the request that waits for the run, in this process or another, that the run calls out or waits. */
  async notifyWaiters(): Promise<void> {
    const { runId, waiter } = this.#ref;
    const { waiters } = this.#services;
    waiters.notifyLocal(runId);
    await waiters.notifyRemote(this.#scope, runId, waiter);
  }

  /** The channel of a waiter in another process. Waiters of this process are notified directly. */
  get #remoteChannel(): string | null {
    return this.#services.waiters.remoteChannel(this.#ref.waiter);
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
    if (this.#bytes > together.bytes) await yieldToEventLoop();
    const { waiters } = this.#services;
    const { runId } = this.#ref;
    // By the NOTIFY in the transaction.
    const notify = this.#remoteChannel;
    const { steps } = this.work;
    const records = this.#records;
    const recorded = await recordSteps(this.#services.files, this.#scope, { runId, steps, records, end, notify });
    const attempts = Math.max(...records.map(({ attempt = 1 }) => attempt));
    if (!recorded || (records.length > 0 && recorded.attempts !== attempts)) this.ownsRun = false;
    this.#records = [];
    this.#bytes = 0;
    this.#recordedAt = performance.now();
    this.outputs.trim();
    // A caller that is notified may read the counters next.
    if (recorded && end) this.#services.countRunEnd(end.status);
    waiters.notifyLocal(runId);
    if (!recorded || !end) return { kind: 'walk' };
    await this.#letInNext(recorded.waiting);
    await this.#giveSlotOn();
    if (end.status === 'completed') return { kind: 'ended', status: 'completed' };
    const { stepId, code } = end.error;
    const { tenant, correlationId } = this.#scope;
    // Without the message, which may quote what belongs to the tenant.
    this.#services.log.warn({ runId, stepId, code, correlationId, ...tenant }, 'run failed');
    return { kind: 'ended', status: 'failed', stepId: stepId!, code };
  }
}
