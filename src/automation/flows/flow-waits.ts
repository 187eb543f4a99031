import { clock } from '../../platform/clock.ts';
import type { Scope } from '../../platform/database/scope.ts';
import type { StepKinds } from '../../platform/parts/step-kind.ts';
import type { Files } from '../../storage/index.ts';
import { planRefusal } from '../../tenancy/index.ts';
import { maxOpenApprovals, type OpenApproval } from '../core/approval-answer.ts';
import type { FlowProgress } from '../core/flow-progress.ts';
import { automationLimits } from '../core/limits.ts';
import { readPath } from '../core/step-path.ts';
import { type ApprovalStep, defaultApprovalActions, isOfFeature } from '../core/step-types.ts';
import type { MatchServices } from '../events/event-value.ts';
import { readEvent } from '../events/read-event.ts';
import { lendSlot } from '../starts/lent-slots.ts';
import { endOfOutcome } from '../steps/perform-step.ts';
import type { StepEnd } from '../steps/step-context.ts';
import { endOfChild } from './child-runs.ts';
import type { FlowExecution } from './flow-execution.ts';
import {
  closeWaits,
  describeWaits,
  endOfWaiting,
  isDue,
  readWaits,
  resolveDueWaits,
  type WaitRow,
} from './open-waits.ts';
import { type WaitLimits, waitingRuns } from './wait-limits.ts';

/** How often a drive that has other work looks for what ended. */
const lookEveryMs = 1_000;

interface FlowWaitServices extends Pick<MatchServices, 'events'> {
  files: Files;
  stepKinds: Pick<StepKinds, 'get'>;
}

/**
 * The least pause of a run for each of its finished steps: all of them are loaded when it continues. Thousands of short
 * waits in one run would otherwise keep a processor busy.
 */
const pausePerStepMs = 0.5;

/** The waits of a flow, while it is executed. */
export class FlowWaits {
  readonly #services: FlowWaitServices;
  readonly #scope: Scope;
  readonly #run: FlowExecution;
  #lookedAt = Number.NEGATIVE_INFINITY;
  readonly #didWait: boolean;
  /** By path: until when the step waited for a slot that is executed anew. */
  readonly #triedAgain = new Map<string, number>();
  /** The event that was taken last: many steps of a run may wait for the same one. */
  #taken: { id: string; end: StepEnd } | undefined;

  constructor(services: FlowWaitServices, scope: Scope, run: FlowExecution) {
    this.#services = services;
    this.#scope = scope;
    this.#run = run;
    this.#didWait = run.work.recorded.some(({ status }) => status === 'waiting');
  }

  /** Ends the steps whose waits have ended, or have timed out. */
  async settle(): Promise<void> {
    const run = this.#run;
    if (!this.#didWait && !run.hasWaits) return;
    if (performance.now() - this.#lookedAt < lookEveryMs) return;
    this.#lookedAt = performance.now();
    let waits = await readWaits(this.#scope, run.runId);
    if (await resolveDueWaits(this.#scope, waits, (path) => run.stepAt(path))) {
      waits = await readWaits(this.#scope, run.runId);
    }
    for (const wait of waits) {
      if (wait.outcome) await this.#end(wait);
      else if (wait.type === 'slot' && isDue(wait, clock.now())) this.#tryAgain(wait);
    }
  }

  /** A step that waited for a slot is executed anew, once for each time that it waits. */
  #tryAgain({ path, until }: WaitRow): void {
    if (this.#triedAgain.get(path) === until!.getTime()) return;
    this.#triedAgain.set(path, until!.getTime());
    this.#run.walk.again(readPath(path));
  }

  async #end(wait: WaitRow): Promise<void> {
    const run = this.#run;
    const { path, type } = wait;
    if (!run.walk.open.has(path)) return;
    const end = await this.#endOf(wait);
    // An approval's answer is small, and what a job made is paid.
    const isForData = end.status === 'completed' && (type === 'event' || type === 'workflow');
    run.finish(readPath(path), run.stepAt(path), (isForData && run.storageFault) || (await run.keep(end)));
  }

  async #endOf({ path, type, subjectId, outcome, eventId }: WaitRow): Promise<StepEnd> {
    const { files, stepKinds } = this.#services;
    if (type === 'workflow') return endOfChild(files, this.#scope, subjectId!);
    if (type === 'job') {
      const kind = stepKinds.get(this.#run.stepAt(path).type);
      return endOfOutcome(await kind.outcome(this.#scope, subjectId!));
    }
    return outcome === true ? this.#endWithEvent(eventId!) : endOfWaiting(outcome!);
  }

  async #endWithEvent(id: string): Promise<StepEnd> {
    if (this.#taken?.id !== id) {
      this.#taken = { id, end: endOfWaiting({ output: await readEvent(this.#services, this.#scope, id) }) };
    }
    return this.#taken.end;
  }

  /** A step that waits is stopped. */
  cancel(path: string): void {
    this.#run.alongside((tx) => closeWaits(tx, this.#run.runId, [path]));
  }

  /** How many runs of the organization may wait where this one is among them. Undefined: any number. */
  get #maxWaiting(): number | undefined {
    const { walk, work } = this.#run;
    const isLimited = [...walk.open].some((path) => !isOfFeature(this.#run.stepAt(path)));
    return isLimited ? automationLimits.waitingRuns.of(work.plan) : undefined;
  }

  /** Whether as many runs of the organization wait as its plan includes, and this one would be one more. */
  async areTooMany(): Promise<boolean> {
    const max = this.#maxWaiting;
    return max !== undefined && (await waitingRuns(this.#scope)) >= max;
  }

  /** The numbers of the plan that the next write could exceed, since others are written at the same time. */
  limitsOf(isWaiting: boolean): WaitLimits | undefined {
    const run = this.#run;
    const max = isWaiting && !run.isWaiting ? this.#maxWaiting : undefined;
    const opens = run.unwrittenApprovals.length > 0;
    if (max === undefined && !opens) return undefined;
    return { waitingRuns: max, openApprovals: opens ? automationLimits.openApprovals.of(run.work.plan) : undefined };
  }

  /** The last approvals that began since the last write fail. @param excess how many, at most */
  refuseApprovals(excess: number): void {
    const run = this.#run;
    const refusal = planRefusal(automationLimits.openApprovals, run.work.plan, 'open approvals');
    for (const path of run.unwrittenApprovals.slice(-excess)) {
      run.finish(readPath(path), run.stepAt(path), { status: 'failed', code: 'too_many_waiting', ...refusal });
    }
  }

  /** Waiting steps fail, because the run has no right to wait. Steps of features continue. */
  async refuse(): Promise<void> {
    const run = this.#run;
    const refusal = planRefusal(automationLimits.waitingRuns, run.work.plan, 'waiting runs');
    // Steps of features wait for jobs and slots, which never fails them.
    const open = [...run.walk.open].filter((path) => !isOfFeature(run.stepAt(path)));
    run.alongside((tx) => closeWaits(tx, run.runId, open));
    for (const path of open) {
      run.finish(readPath(path), run.stepAt(path), {
        status: 'failed',
        code: 'too_many_waiting',
        ...refusal,
      });
    }
  }

  /** The waits of the run from now on. Its slot is lent while it waits for another run, which may need it. */
  async describe(): Promise<FlowProgress> {
    const { runId, work } = this.#run;
    const waits = await readWaits(this.#scope, runId);
    const isForRun = waits.some(({ type, state }) => type === 'workflow' && state === 'open');
    if (isForRun && work.concurrencyGroup) await lendSlot(this.#scope, runId);
    const ends = waits.flatMap(({ until, state }) => (state === 'resolved' ? [0] : until ? [until.getTime()] : []));
    const leastMs = this.#run.walk.progress.finished * pausePerStepMs;
    const dueInMs = ends.length > 0 ? Math.max(leastMs, Math.min(...ends) - clock.now()) : null;
    return { kind: 'waits', dueInMs, details: describeWaits(waits), approvals: this.#openApprovals(waits) };
  }

  /** The facts about open approvals that the run's workflow needs to refuse invalid answers. */
  #openApprovals(waits: readonly WaitRow[]): OpenApproval[] | undefined {
    const open = waits.filter(({ type, state }) => type === 'approval' && state === 'open');
    if (open.length > maxOpenApprovals) return undefined;
    return open.map(({ path, subjectId }) => {
      const { actions = defaultApprovalActions, form } = this.#run.stepAt(path) as ApprovalStep;
      const shown = actions.map(({ id, skipForm }) => ({ id, takesValues: form !== undefined && !skipForm }));
      return { id: subjectId!, actions: shown };
    });
  }
}
