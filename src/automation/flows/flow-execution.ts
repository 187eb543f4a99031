import { clock } from '../../platform/clock.ts';
import type { Scope, Transaction } from '../../platform/database/scope.ts';
import { itemVariables, stepVariables } from '../core/expression.ts';
import { type Finished, type FlowError, FlowWalk, type ItemScope, type ReadyLeaf } from '../core/flow-walk.ts';
import type { RunError, StepCounts } from '../core/run-status.ts';
import { dottedPath, readPath, type StepPath } from '../core/step-path.ts';
import { isContainer, isOfFeature, stepsIn } from '../core/step-types.ts';
import type { Step } from '../core/steps.ts';
import { limitWarnings } from '../core/template.ts';
import type { RunRef, RunServices } from '../runs/run-execution.ts';
import type { StepContext, StepEnd, StepFault, StoredValues } from '../steps/step-context.ts';
import { OutputSpace, StepOutputs, type StoredEnd, valuesOfOutputs } from '../steps/step-outputs.ts';
import type { Storable } from '../steps/storable.ts';
import type { StepTimes } from './container-output.ts';
import { visibleSteps } from './flow-values.ts';
import { type FlowWork, loadFlowWork, readFlowOutputs } from './load-flow.ts';
import { type EndRecord, type FlowRecord, type FlowWrite, recordFlowSteps } from './record-flow.ts';
import type { BegunRow } from './record-sql.ts';
import { WaitLimitReached, type WaitLimits } from './wait-limits.ts';
import type { NewWait } from './waits.ts';

/** Steps that a run executes at most. */
const maxExecuted = 10_000;

const tooManySteps: StepFault = {
  status: 'failed',
  code: 'too_many_steps',
  message: `A run executes at most ${maxExecuted} steps.`,
};

/** Steps of a run that may wait at the same time for times, events, approvals and other runs. */
const maxWaiting = 1_000;

const tooManyWaits: StepFault = {
  status: 'failed',
  code: 'too_many_waiting',
  message: `At most ${maxWaiting} steps of a run wait at the same time.`,
  details: { limit: maxWaiting },
};

/** A step that has a row, or will have. */
interface LeafRow extends StepTimes {
  position: number;
  keyRunId: string | null;
  /** Whether it is recorded, or will be with the next write. */
  isBegun: boolean;
}

/** The items of the innermost of some maps. */
type ItemsOf = (scopes: readonly ItemScope[]) => Promise<readonly unknown[]>;

/** The position of a step. */
export type Place = Pick<ReadyLeaf, 'path' | 'scopes'>;

/** A flow in memory, between two writes to the database. */
export class FlowExecution {
  readonly work: FlowWork;
  readonly outputs: StepOutputs;
  readonly walk: FlowWalk;
  /** False once another execution has taken the run over, or it has ended. */
  ownsRun = true;
  isWaiting: boolean;
  readonly #services: RunServices;
  readonly #scope: Scope;
  readonly #ref: RunRef;
  readonly #space: OutputSpace;
  /** By dotted path. */
  readonly #rows = new Map<string, LeafRow>();
  #nextPosition = 0;
  /** The latest time that is recorded, or will be with the next write; and the earliest that a later write may have. */
  #latest = 0;
  #earliest = 0;
  /** By position: the last of what happened to a step since the last write. */
  readonly #records = new Map<number, FlowRecord>();
  #waits: Omit<NewWait, 'runId'>[] = [];
  /** Dotted paths of the steps that wait. Those of features wait for jobs and slots, which never fails them. */
  readonly #waiting = new Set<string>();
  /** What is written beside the steps; with the dotted path of the step that it belongs to, if it does to one. */
  #also: { path?: string; work: (tx: Transaction) => Promise<void> }[] = [];
  #bytes = 0;
  /** What the run has since the last write of this execution. See fence.ts. */
  #fence: number;
  /** By id, which is unique in a definition. */
  readonly #steps = new Map<string, Step>();

  private constructor(services: RunServices, scope: Scope, ref: RunRef, work: FlowWork) {
    this.#services = services;
    this.#scope = scope;
    this.#ref = ref;
    this.work = work;
    this.isWaiting = work.isWaiting;
    this.#fence = work.fence;
    for (const step of stepsIn(work.steps)) this.#steps.set(step.id, step);
    const sizes = new Map<string, number>();
    let bytes = 0;
    for (const { path, position, status, total, startedAt, finishedAt, outputBytes, keyRunId } of work.recorded) {
      const isBegun = status !== 'running' || total !== null || !isContainer(this.stepAt(path));
      this.#rows.set(path, { position, startedAt, finishedAt, keyRunId, isBegun });
      this.#earliest = Math.max(this.#earliest, startedAt + 1, (finishedAt ?? 0) + 1);
      this.#nextPosition = Math.max(this.#nextPosition, position + 1);
      if (outputBytes > 0) sizes.set(path, outputBytes);
      if (status === 'waiting' && !isOfFeature(this.stepAt(path))) this.#waiting.add(path);
      bytes += outputBytes;
    }
    this.outputs = new StepOutputs(services.files, (paths) => readFlowOutputs(scope, ref.runId, paths), sizes);
    this.#space = new OutputSpace(services.files, scope, ref.runId, work, bytes);
    this.walk = FlowWalk.of(
      work.steps,
      work.recorded.map(({ path, status, took, error, total }) => ({
        path: readPath(path),
        total: total ?? undefined,
        ...(status === 'running' || status === 'waiting'
          ? { status }
          : { status, took: took ?? undefined, error: error ?? undefined }),
      })),
    );
  }

  /** @returns undefined when the run is over or gone */
  static async load(services: RunServices, scope: Scope, ref: RunRef): Promise<FlowExecution | undefined> {
    const work = await loadFlowWork(scope, ref.runId);
    return work && new FlowExecution(services, scope, ref, work);
  }

  get runId(): string {
    return this.#ref.runId;
  }

  /** Why no step can add an output, where the organization keeps as much as its plan includes. */
  get storageFault(): StepFault | undefined {
    return this.#space.fault;
  }

  /** Bytes of the outputs that are not recorded yet. */
  get unrecordedBytes(): number {
    return this.#bytes;
  }

  /** The dotted paths of approvals that began since the last write. */
  get unwrittenApprovals(): string[] {
    return this.#waits.flatMap(({ type, path }) => (type === 'approval' ? [path] : []));
  }

  /** Whether a step began to wait since the flow was loaded. */
  hasWaits = false;

  /** Whether something is to be written. */
  get hasRecords(): boolean {
    return this.#records.size > 0;
  }

  /** The reason why a step that has not begun must not begin. */
  faultOf(path: StepPath): StepFault | undefined {
    if (this.#nextPosition < maxExecuted || this.#rows.has(dottedPath(path))) return undefined;
    return tooManySteps;
  }

  /** The reason why no further step must begin to wait. */
  get waitFault(): StepFault | undefined {
    return this.#waiting.size < maxWaiting ? undefined : tooManyWaits;
  }

  /** The step of a dotted path. */
  stepAt(path: string): Step {
    return this.#steps.get(path.slice(path.lastIndexOf('.') + 1))!;
  }

  timesOf(path: string): StepTimes | undefined {
    return this.#rows.get(path);
  }

  /** The data of the run that the execution of a step needs. */
  contextOf(place: Place, itemsOf: ItemsOf): StepContext {
    const { byDefault } = this.work;
    const path = dottedPath(place.path);
    const row = this.#rowOf(path);
    return {
      runId: this.runId,
      position: row.position,
      path,
      byDefault,
      actionKey: `${row.keyRunId ?? this.runId}.${path}`,
      variables: place.scopes.length > 0 ? itemVariables : stepVariables,
      storedValues: (steps) => this.#storedValuesOf(place, itemsOf, steps),
      values: async (steps) => {
        const { steps: outputs, ...others } = await this.#storedValuesOf(place, itemsOf, steps);
        return { ...others, steps: valuesOfOutputs(outputs) };
      },
    };
  }

  /** Bytes of the outputs that a step sees, of those with these ids. */
  outputBytes(path: StepPath, named: ReadonlySet<string> | 'all'): number {
    return this.outputs.bytesOf(new Set(visibleSteps(this.work.steps, path, named).values()));
  }

  /** The values that a step sees. @throws OutputsTooLarge; StorageFailure */
  async #storedValuesOf(
    { path, scopes }: Place,
    itemsOf: ItemsOf,
    named: ReadonlySet<string> | 'all',
  ): Promise<StoredValues> {
    const { input, variables, steps } = this.work;
    const visible = visibleSteps(steps, path, named);
    const outputs = await this.outputs.of(new Set(visible.values()));
    const byId: [string, Storable][] = [];
    for (const [id, key] of visible) if (Object.hasOwn(outputs, key)) byId.push([id, outputs[key]!]);
    const values = { input, variables, steps: Object.fromEntries(byId) };
    const scope = scopes.at(-1);
    if (!scope) return values;
    const { index, total } = scope;
    const item = (await itemsOf(scopes))[index] ?? null;
    return { ...values, scope: { item, index, total } };
  }

  /** A step begins to call out, a container is opened, or a step begins to wait. */
  begin(
    path: StepPath,
    step: Step,
    begun: { status: 'running' | 'waiting'; total?: number; provider?: string; model?: string },
  ): void {
    const dotted = dottedPath(path);
    const row = this.#rowOf(dotted);
    // A step that waited for a slot begins now.
    if (!row.isBegun) row.startedAt = this.#now();
    row.isBegun = true;
    const { position, startedAt, keyRunId } = row;
    const facts = { position, path: dotted, step, startedAt: new Date(startedAt) };
    this.#put({ ...facts, ...begun, keyRunId: keyRunId ?? undefined });
  }

  /** A step begins to wait. @param also further work of the transaction that records it */
  beginWaiting(
    path: StepPath,
    step: Step,
    wait: Omit<NewWait, 'runId' | 'path' | 'stepId'>,
    also?: (tx: Transaction) => Promise<void>,
  ): void {
    this.begin(path, step, { status: 'waiting' });
    this.hasWaits = true;
    const dotted = dottedPath(path);
    this.#waits.push({ ...wait, path: dotted, stepId: step.id });
    if (!isOfFeature(step)) this.#waiting.add(dotted);
    if (also) this.#also.push({ path: dotted, work: also });
  }

  /** Does further work in the transaction that records what ended. */
  alongside(work: (tx: Transaction) => Promise<void>): void {
    this.#also.push({ work });
  }

  /** Makes room for an output, and stores a large one. See `OutputSpace.keep`. */
  keep(end: StepEnd, isLast = false): Promise<StoredEnd> {
    return this.#space.keep(end, isLast);
  }

  /** A leaf ended: adds it to the next write and moves the walk on. */
  finish(path: StepPath, step: Step, end: StoredEnd, asked?: { provider: string; model: string }): void {
    this.walk.finished(path, this.#add(path, step, end, asked));
  }

  /** A container was opened with so many branches or items. */
  openContainer(path: StepPath, step: Step, total: number): void {
    this.begin(path, step, { status: 'running', total });
    this.walk.opened(path, total);
  }

  /**
   * A container ended, and its output exists.
   * @param error of a container that failed, or that was cancelled: null
   */
  closeContainer(
    path: StepPath,
    step: Step,
    end: StoredEnd,
    counts: StepCounts,
    failure?: FlowError | 'cancelled',
  ): void {
    if (end.status === 'failed' || failure === undefined) {
      const result = this.#add(path, step, end, undefined, counts);
      if (end.status === 'failed') this.walk.finished(path, result);
      else this.walk.closed(path);
      return;
    }
    const record = this.#endRecord(path, step, end);
    record.counts = counts;
    record.status = failure === 'cancelled' ? 'cancelled' : 'failed';
    if (failure !== 'cancelled') record.error = failure;
    this.#addOutput(record, end);
    this.walk.closed(path);
  }

  /** A step that was stopped because another step of its container failed. A step that never began is skipped. */
  cancelled(path: StepPath, step: Step): void {
    const dotted = dottedPath(path);
    if (!this.#rows.get(dotted)?.isBegun) {
      this.walk.finished(path, { status: 'skipped' });
      return;
    }
    const record = this.#endRecord(path, step, { warnings: [] });
    record.status = 'cancelled';
    this.#put(record);
    this.walk.finished(path, { status: 'cancelled' });
  }

  /** Times of later writes are later than all before: the events of a run have them as their order. */
  #now(): number {
    this.#latest = Math.max(clock.now(), this.#earliest);
    return this.#latest;
  }

  #rowOf(path: string): LeafRow {
    const known = this.#rows.get(path);
    if (known) return known;
    const row = {
      position: this.#nextPosition++,
      startedAt: this.#now(),
      finishedAt: null,
      keyRunId: this.work.stepKeys?.[path] ?? null,
      isBegun: false,
    };
    this.#rows.set(path, row);
    return row;
  }

  #endRecord(path: StepPath, step: Step, { warnings = [], tokensUsed, models }: Omit<StoredEnd, 'status'>): EndRecord {
    const dotted = dottedPath(path);
    const row = this.#rowOf(dotted);
    const finishedAt = new Date(this.#now());
    if (!row.isBegun) row.startedAt = Math.min(Math.max(row.startedAt, this.#earliest), finishedAt.getTime());
    row.isBegun = true;
    row.finishedAt = finishedAt.getTime();
    return {
      position: row.position,
      path: dotted,
      step,
      startedAt: new Date(row.startedAt),
      finishedAt,
      status: 'completed',
      ...limitWarnings(warnings),
      tokensUsed,
      models,
    };
  }

  #add(
    path: StepPath,
    step: Step,
    end: StoredEnd,
    asked?: { provider: string; model: string },
    counts?: StepCounts,
  ): Finished {
    const record = this.#endRecord(path, step, end);
    Object.assign(record, asked);
    record.counts = counts;
    if (end.status === 'failed') {
      const { code, message, details, fault } = end;
      const error: FlowError = { stepId: step.id, message, code };
      if (details) error.details = details;
      if (fault) error.fault = fault;
      this.#put(Object.assign(record, { status: 'failed' as const, error }));
      return { status: 'failed', error };
    }
    this.#addOutput(record, end);
    return { status: 'completed', took: end.output.json === 'true' };
  }

  #put(record: FlowRecord): void {
    this.#records.set(record.position, record);
    // A step that ended before it was recorded as waiting waits for nothing.
    if (!('finishedAt' in record)) return;
    this.#waits = this.#waits.filter(({ path }) => path !== record.path);
    this.#also = this.#also.filter(({ path }) => path !== record.path);
    this.#waiting.delete(record.path);
  }

  #addOutput(record: EndRecord, { output, file }: StoredEnd & { status: 'completed' }): void {
    const { bytes, json } = output;
    record.output = file ? { bytes, file } : { bytes, json };
    this.#put(record);
    if (!file) this.#bytes += bytes;
    this.outputs.add(record.path, output);
  }

  /** Notifies the request that waits for the run, in this process or another, that the run calls out or waits. */
  async notifyWaiters(): Promise<void> {
    const { runId, waiter } = this.#ref;
    const { waiters } = this.#services;
    waiters.notifyLocal(runId);
    // A waiter that is not notified looks by itself, and the calls under way are not to end with this one.
    await waiters.notifyRemote(this.#scope, runId, waiter).catch((error) => {
      this.#services.log.warn({ err: error, runId }, 'the request that waits for a run was not notified');
    });
  }

  /**
   * Writes the collected steps, and the end of the run if there is one.
   * @param isWaiting whether all that is open waits
   * @returns the steps that began to call out, by position; undefined when the run is no longer ours
   * @throws WaitLimitReached; then all is still to be written
   */
  async record(
    isWaiting: boolean,
    end?: FlowWrite['end'],
    limits?: WaitLimits,
  ): Promise<ReadonlyMap<number, BegunRow> | undefined> {
    const { waiters } = this.#services;
    const { runId } = this.#ref;
    const also = this.#also;
    const bytes = this.#bytes;
    const write: FlowWrite = {
      runId,
      fence: this.#fence,
      records: [...this.#records.values()],
      waits: this.#waits,
      progress: this.walk.progress,
      isWaiting,
      end,
      limits,
      notify: waiters.remoteChannel(this.#ref.waiter),
    };
    this.#earliest = Math.max(this.#earliest, this.#latest + 1);
    this.#records.clear();
    this.#waits = [];
    this.#also = [];
    this.#bytes = 0;
    const inTransaction = async (tx: Transaction) => {
      for (const { work } of also) await work(tx);
    };
    const recorded = await recordFlowSteps(
      this.#services,
      this.#scope,
      write,
      also.length > 0 ? inTransaction : undefined,
    ).catch((error) => {
      if (error instanceof WaitLimitReached) {
        for (const record of write.records) this.#records.set(record.position, record);
        this.#waits = [...write.waits];
        this.#also = also;
        this.#bytes = bytes;
      }
      throw error;
    });
    this.isWaiting = isWaiting;
    this.outputs.trim();
    // A caller that is notified may read the counters next.
    if (recorded && end) this.#services.countRunEnd(end.status);
    waiters.notifyLocal(runId);
    if (!recorded) {
      this.ownsRun = false;
      return undefined;
    }
    this.#fence++;
    if (end) await this.#ended(end, recorded.waiting);
    return new Map((recorded.begun ?? []).map((row) => [row.position, row]));
  }

  async #ended(end: NonNullable<FlowWrite['end']>, waiting: number | null): Promise<void> {
    const { activeRuns, log } = this.#services;
    const { tenant, correlationId } = this.#scope;
    const { runId } = this.#ref;
    if (waiting !== null) {
      await activeRuns.released(this.#scope, runId, waiting).catch((error) => {
        log.warn({ err: error, runId }, 'the slot of a run that calls out was not given to the next one');
      });
    }
    if (end.status === 'completed') return;
    const { stepId, code }: RunError = end.error;
    // Without the message, which may quote what belongs to the tenant.
    log.warn({ runId, stepId, code, correlationId, ...tenant }, 'run failed');
  }
}
