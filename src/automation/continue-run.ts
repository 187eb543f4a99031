import type { Scope } from '../platform/scope.ts';
import { AdvancingRun, type RunProgress, type RunRef, type RunServices } from './advance-run.ts';
import { type CallOptions, callStep } from './call-step.ts';
import { isCalling } from './core/steps.ts';
import { walkOn } from './walk-steps.ts';

export interface CallRef extends RunRef {
  /** Of the step that calls out. */
  position: number;
}

/** The activity that executes the steps. */
export interface ContinueOptions extends CallOptions {
  /** Told which step calls out, before it does. */
  onCall(stepId: string): void;
  /** Asked before each further step, once a step has called out. */
  mayGoOn(): boolean;
  /** Whether the workflow can wait for the run's turn to call out; those of earlier versions cannot. */
  mayWait: boolean;
}

/** Steps between two calls. When they fail unexpectedly they are handed back, because a walk of its own bounds its attempts. */
async function walkBetween(
  services: RunServices,
  scope: Scope,
  runId: string,
  run: AdvancingRun,
): Promise<RunProgress> {
  try {
    return await walkOn(services, scope, runId, run);
  } catch (error) {
    services.log.warn({ err: error, runId }, 'steps that answer at once failed; they are executed anew');
    run.isOurs = false;
    return { kind: 'walk' };
  }
}

async function advance(
  services: RunServices,
  scope: Scope,
  ref: CallRef,
  { onCall, mayGoOn, mayWait, ...options }: ContinueOptions,
): Promise<RunProgress> {
  const { runId } = ref;
  const run = await AdvancingRun.load(services, scope, ref);
  if (!run) return { kind: 'gone' };
  let calls = run.position === ref.position;
  let hasCalled = false;
  for (;;) {
    const { step } = run;
    let progress: RunProgress;
    if (calls && step && isCalling(step)) {
      const comesFirst = mayWait && !hasCalled;
      if (comesFirst && !(await services.callingRuns.claim(scope, runId))) {
        await run.tell();
        return { kind: 'wait', position: run.position, stepId: step.id };
      }
      onCall(step.id);
      if (!hasCalled) await run.tell();
      hasCalled = true;
      progress = await callStep(services, scope, runId, run, step, options);
    } else {
      progress = await walkBetween(services, scope, runId, run);
    }
    if (progress.kind === 'ended' || progress.kind === 'gone' || !run.isOurs) return progress;
    if (progress.kind === 'tools') return progress;
    options.signal.throwIfAborted();
    if (hasCalled && !mayGoOn()) return progress;
    calls = progress.kind === 'call';
  }
}

/** A place that cannot be given up runs out. */
async function leave({ callingRuns, log }: RunServices, scope: Scope, runId: string): Promise<void> {
  try {
    await callingRuns.leave(scope, runId);
  } catch (error) {
    log.warn({ err: error, runId }, 'the place of a calling run was not given up');
  }
}

/**
 * Executes the step at `position`, which calls out, and goes on with the steps after it while the activity may. The row of
 * each step makes a second execution harmless, so a retry begins with the step that failed. The run has a place among those
 * that call out meanwhile, and keeps it when it is handed back before a step that calls out too, or before calls of tools. Recording its end gives it
 * up.
 * @returns what the run needs next; the same kinds as after a walk, and `wait`
 * @throws ProviderFailure when a retry of the current step may succeed; the signal's reason once it is aborted
 */
export async function continueRun(
  services: RunServices,
  scope: Scope,
  ref: CallRef,
  options: ContinueOptions,
): Promise<RunProgress> {
  const { runId } = ref;
  if (!options.mayWait) return advance(services, scope, ref, options);
  let progress: RunProgress | undefined;
  try {
    progress = await advance(services, scope, ref, options);
    return progress;
  } finally {
    if (progress?.kind === 'call' || progress?.kind === 'tools') services.callingRuns.handOver(runId);
    else if (progress?.kind !== 'wait' && progress?.kind !== 'ended') await leave(services, scope, runId);
  }
}
