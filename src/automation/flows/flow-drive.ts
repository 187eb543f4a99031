import { clock } from '../../platform/clock.ts';
import { WakeSignal } from '../../platform/concurrency/wake-signal.ts';
import type { Scope } from '../../platform/database/scope.ts';
import type { RunPolicy } from '../../temporal/contracts/automation.ts';
import type { FlowProgress, LeafTools } from '../core/flow-progress.ts';
import type { ReadyLeaf } from '../core/flow-walk.ts';
import { dottedPath } from '../core/step-path.ts';
import { candidatesOf } from '../core/steps.ts';
import { failPoint } from '../fail-points.ts';
import type { StepWaits } from '../steps/perform-step.ts';
import { callLeaf, type FlowServices, type LeafResult } from './call-leaf.ts';
import type { FlowExecution } from './flow-execution.ts';
import { FlowItems } from './flow-items.ts';
import { FlowSlots } from './flow-slots.ts';
import { FlowWaits } from './flow-waits.ts';
import { type CallingLeaf, InstantSteps } from './instant-steps.ts';
import { hasEnded } from './load-flow.ts';
import type { FlowWrite } from './record-flow.ts';
import type { BegunRow } from './record-sql.ts';
import { WaitLimitReached } from './wait-limits.ts';

export interface DriveOptions {
  policy: RunPolicy;
  signal: AbortSignal;
  /** Whether steps may call out; otherwise the flow is handed back before they do. */
  mayCall: boolean;
  /**
   * Checked before each further step begins: once it is false the flow is handed back after its running steps have
   * ended.
   */
  mayGoOn(): boolean;
  /** Called with the step that calls out. */
  onCall(stepId: string): void;
}

interface Flight {
  leaf: CallingLeaf;
  abort: AbortController;
}

/** How often a drive looks for what ended that its flow waits for, and for slots that others left. */
const lookEveryMs = 1_000;
/** A pause before another attempt that a drive waits for; before a longer one it gives up its slots. */
const maxPauseMs = 2_000;

/** Executes a flow for some time: one loop, which writes once for all that happened since it wrote before. */
export class FlowDrive {
  readonly #services: FlowServices;
  readonly #scope: Scope;
  readonly #run: FlowExecution;
  readonly #options: DriveOptions;
  readonly #items: FlowItems;
  readonly #slots: FlowSlots;
  readonly #instant: InstantSteps;
  readonly #waits: FlowWaits;
  /** Leaves that may begin to call out. */
  #ready: CallingLeaf[] = [];
  /** By dotted path. */
  readonly #flights = new Map<string, Flight>();
  #landed: { path: string; leaf: CallingLeaf; result: LeafResult }[] = [];
  #retries: { leaf: CallingLeaf; at: number }[] = [];
  #tools: (LeafTools & { leaf: CallingLeaf })[] = [];
  #failure: { error: unknown } | undefined;
  /** Jobs of steps whose waits are not recorded yet. */
  readonly #jobs = new Set<string>();
  #isOver = false;
  readonly #wake = new WakeSignal();

  constructor(services: FlowServices, scope: Scope, run: FlowExecution, options: DriveOptions) {
    this.#services = services;
    this.#scope = scope;
    this.#run = run;
    this.#options = options;
    this.#items = new FlowItems(services, scope, run);
    this.#slots = new FlowSlots(services.activeRuns, scope, run.runId);
    this.#waits = new FlowWaits(services, scope, run);
    this.#instant = new InstantSteps(services, scope, run, this.#items, {
      calls: (leaf) => void this.#ready.push(leaf),
      cancel: (path) => this.#cancel(path),
    });
  }

  /**
   * @returns what the flow needs next
   * @throws the signal's reason once it is aborted; what fails unexpectedly, once the calls that were made are recorded
   */
  async execute(): Promise<FlowProgress> {
    let progress: FlowProgress | undefined;
    const { signal } = this.#options;
    const stop = () => this.#wake.set();
    signal.addEventListener('abort', stop);
    try {
      progress = await this.#loop();
      return progress;
    } finally {
      signal.removeEventListener('abort', stop);
      for (const { abort } of this.#flights.values()) abort.abort();
      this.#isOver = true;
      await this.#cancelJobs();
      await this.#leaveSlots(progress);
    }
  }

  /** A slot that cannot be released expires. */
  async #leaveSlots(progress: FlowProgress | undefined): Promise<void> {
    if (!this.#options.mayCall || progress?.kind === 'slot') return;
    if (progress?.kind === 'ended') return this.#slots.forget();
    const keeps = progress?.kind === 'tools' || (progress?.kind === 'drive' && progress.afterMs === undefined);
    try {
      await (keeps ? this.#slots.handOver() : this.#slots.leave());
    } catch (error) {
      this.#services.log.warn({ err: error, runId: this.#run.runId }, 'the slots of a flow were not released');
    }
  }

  /** A run that was cancelled leaves no jobs behind. A run that continues finds its jobs again by their keys. */
  async #cancelJobs(): Promise<void> {
    const jobs = [...this.#jobs];
    this.#jobs.clear();
    try {
      if (jobs.length === 0 || !(await hasEnded(this.#scope, this.#run.runId))) return;
      for (const job of jobs) await this.#services.stepKinds.cancelJob(this.#scope, job);
    } catch (error) {
      this.#services.log.warn({ err: error, runId: this.#run.runId }, 'the jobs of a cancelled run were not cancelled');
    }
  }

  async #loop(): Promise<FlowProgress> {
    const run = this.#run;
    const { signal } = this.#options;
    for (;;) {
      signal.throwIfAborted();
      this.#land();
      const hasMore = await this.#unlessFailing(false, async () => {
        await this.#waits.settle();
        return this.#instant.proceed();
      });
      const { end } = this.#instant;
      const begins = end || hasMore ? [] : await this.#unlessFailing([], () => this.#begin());
      const isWaiting = !end && !hasMore && begins.length === 0 && this.#isIdle && run.walk.open.size > 0;
      if (isWaiting && !run.isWaiting && (await this.#waits.areTooMany())) {
        await run.record(false);
        await this.#waits.refuse();
        continue;
      }
      if (run.hasRecords || end || isWaiting !== run.isWaiting) {
        const { begun, isRefused } = await this.#record(isWaiting, end);
        failPoint('step.recorded');
        if (!begun) return { kind: 'walk' };
        this.#jobs.clear();
        if (end?.status === 'completed') return { kind: 'ended', status: 'completed' };
        if (end) return { kind: 'ended', status: 'failed', stepId: end.error.stepId, code: end.error.code };
        for (const leaf of begins) this.#call(leaf, begun);
        if (begins.length > 0) await run.notifyWaiters();
        if (isRefused) continue;
      }
      if (hasMore) {
        if (this.#options.mayCall || this.#options.mayGoOn()) continue;
        return { kind: 'walk' };
      }
      const progress = await this.#handBack(isWaiting);
      if (progress) return progress;
      await this.#pause();
    }
  }

  /** Writes what happened. What is too many because of other runs at the same time is refused, and the rest is written. */
  async #record(
    isWaiting: boolean,
    end?: FlowWrite['end'],
  ): Promise<{ begun: ReadonlyMap<number, BegunRow> | undefined; isRefused: boolean }> {
    const run = this.#run;
    try {
      return { begun: await run.record(isWaiting, end, this.#waits.limitsOf(isWaiting)), isRefused: false };
    } catch (error) {
      if (!(error instanceof WaitLimitReached)) throw error;
      if (error.limit === 'openApprovals') {
        this.#waits.refuseApprovals(error.excess);
        return { begun: (await this.#record(false, end)).begun, isRefused: true };
      }
      const begun = await run.record(false);
      if (begun) await this.#waits.refuse();
      return { begun, isRefused: true };
    }
  }

  /** Once something fails unexpectedly nothing begins, and what runs is still recorded. */
  async #unlessFailing<T>(otherwise: T, work: () => Promise<T>): Promise<T> {
    if (this.#failure) return otherwise;
    try {
      return await work();
    } catch (error) {
      this.#failure = { error };
      return otherwise;
    }
  }

  get #isIdle(): boolean {
    const { length: retries } = this.#retries;
    return (
      this.#flights.size + this.#ready.length + this.#tools.length + this.#landed.length + retries === 0 &&
      !this.#failure
    );
  }

  get #mayBegin(): boolean {
    const { mayCall, mayGoOn } = this.#options;
    return mayCall && !this.#failure && this.#tools.length === 0 && mayGoOn();
  }

  /** The next needs of the flow when no step of it runs here. */
  async #handBack(isWaiting: boolean): Promise<FlowProgress | undefined> {
    if (this.#flights.size > 0 || this.#landed.length > 0) return undefined;
    if (this.#failure) throw this.#failure.error;
    if (this.#tools.length > 0) {
      const leaves = this.#tools.map(({ position, path, round, calls }) => ({ position, path, round, calls }));
      return { kind: 'tools', leaves };
    }
    if (this.#ready.length > 0) {
      const stepId = this.#ready[0]!.step.id;
      if (!this.#options.mayCall || !this.#options.mayGoOn()) return { kind: 'drive', stepId };
      await this.#slots.recordWaiting(this.#ready);
      await this.#run.notifyWaiters();
      return { kind: 'slot' };
    }
    if (this.#retries.length > 0) {
      const afterMs = Math.max(0, Math.min(...this.#retries.map(({ at }) => at)) - performance.now());
      if (afterMs <= maxPauseMs && this.#options.mayGoOn()) return undefined;
      return { kind: 'drive', stepId: this.#retries[0]!.leaf.step.id, afterMs };
    }
    if (isWaiting) {
      await this.#run.notifyWaiters();
      return this.#waits.describe();
    }
    throw new Error(`Nothing is left to do of the flow ${this.#run.runId}, and it has not ended.`);
  }

  async #pause(): Promise<void> {
    if (this.#landed.length > 0) return;
    const next = Math.min(...this.#retries.map(({ at }) => at - performance.now()), lookEveryMs);
    await this.#wake.wait(Math.max(0, next));
  }

  /** The steps that begin to call out now. */
  async #begin(): Promise<CallingLeaf[]> {
    const now = performance.now();
    const isDue = ({ at }: { at: number }) => at <= now;
    this.#ready.push(...this.#retries.filter(isDue).map(({ leaf }) => leaf));
    this.#retries = this.#retries.filter((retry) => !isDue(retry));
    if (!this.#mayBegin || this.#ready.length === 0) return [];
    const used = this.#flights.size;
    const slots = await this.#slots.take(used, this.#ready);
    const begins = this.#ready.splice(0, Math.max(0, slots - used));
    for (const { path, step } of begins) {
      const asked = step.type === 'prompt' ? candidatesOf(step, this.#run.work.byDefault)[0] : {};
      this.#run.begin(path, step, { status: 'running', ...asked });
      this.#options.onCall(step.id);
    }
    return begins;
  }

  #call(leaf: CallingLeaf, begun: ReadonlyMap<number, BegunRow>): void {
    const path = dottedPath(leaf.path);
    const abort = new AbortController();
    this.#flights.set(path, { leaf, abort });
    const context = this.#run.contextOf(leaf, this.#items.of);
    const row = begun.get(context.position);
    const signal = AbortSignal.any([this.#options.signal, abort.signal]);
    const keep = this.#run.keep.bind(this.#run);
    const call = { context, step: leaf.step, begun: row ?? { attempts: 1, rounds: 0, ageMs: 0 }, keep, signal };
    callLeaf(this.#services, this.#scope, this.#options.policy, call)
      .then(
        async (result) => {
          if (result.kind === 'waits' && 'job' in result.on) this.#jobs.add(result.on.job);
          if (this.#isOver) await this.#cancelJobs();
          else this.#landed.push({ path, leaf, result });
        },
        (error) => {
          this.#failure ??= { error };
          this.#flights.delete(path);
        },
      )
      .finally(() => this.#wake.set());
  }

  /** Records the results of the calls. */
  #land(): void {
    const landed = this.#landed;
    this.#landed = [];
    for (const { path, leaf, result } of landed) {
      const flight = this.#flights.get(path);
      this.#flights.delete(path);
      if (result.kind === 'ended') this.#run.finish(leaf.path, leaf.step, result.end, result.asked);
      else if (result.kind === 'aborted') this.#run.cancelled(leaf.path, leaf.step);
      else if (result.kind === 'waits') this.#waitFor(leaf, result.on, flight?.abort.signal.aborted === true);
      else if (result.kind === 'retry') this.#retries.push({ leaf, at: performance.now() + result.afterMs });
      else this.#useTools(path, leaf, result.calls);
    }
  }

  /** A step begins to wait for its job, or for a slot. @param isStopped whether it is to be stopped: then its job is too */
  #waitFor({ path, step }: CallingLeaf, on: StepWaits, isStopped: boolean): void {
    const run = this.#run;
    const kind = this.#services.stepKinds.get(step.type);
    if (isStopped) {
      if ('job' in on) run.alongside((tx) => tx.enqueue('step.cancel_job', on.job));
      run.cancelled(path, step);
    } else if ('job' in on) {
      run.beginWaiting(path, step, { type: 'job', subjectId: on.job, hold: (tx) => kind.hold(tx, on.job) });
    } else {
      run.beginWaiting(path, step, { type: 'slot', until: new Date(clock.now() + on.slotAfterMs) });
    }
  }

  #useTools(path: string, leaf: CallingLeaf, { round, calls }: { round: number; calls: number[] }): void {
    // Another attempt recorded the answer: the model is asked for the next one.
    if (round > 0 && calls.length === 0) this.#ready.push(leaf);
    else this.#tools.push({ leaf, path, position: this.#run.contextOf(leaf, this.#items.of).position, round, calls });
  }

  /** Stops a leaf that was handed out. One whose call is under way ends when that has stopped. */
  #cancel(path: ReadyLeaf['path']): void {
    const dotted = dottedPath(path);
    if (!this.#run.walk.open.has(dotted)) return;
    const flight = this.#flights.get(dotted);
    if (flight) {
      flight.abort.abort();
      return;
    }
    const isOther = (leaf: CallingLeaf) => dottedPath(leaf.path) !== dotted;
    this.#ready = this.#ready.filter(isOther);
    this.#retries = this.#retries.filter(({ leaf }) => isOther(leaf));
    this.#tools = this.#tools.filter(({ leaf }) => isOther(leaf));
    this.#waits.cancel(dotted);
    this.#run.cancelled(path, this.#run.stepAt(dotted));
  }
}
