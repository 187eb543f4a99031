import { clock } from '../../platform/clock.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { statement } from '../../platform/database/sql.ts';
import { isFlow } from '../core/step-types.ts';
import { type CallingStep, callsOut, candidatesOf, isCalling } from '../core/steps.ts';
import { failPoint } from '../fail-points.ts';
import { failFlow } from '../flows/execute-flow.ts';
import { callInstantly } from '../steps/ask-model.ts';
import { attemptStep, attemptsOf } from '../steps/attempt-step.ts';
import { evaluateStep } from '../steps/evaluate-step.ts';
import { storePaid } from '../steps/store-paid.ts';
import { RunExecution, type RunProgress, type RunRef, type RunServices } from './run-execution.ts';
import { beginStep } from './run-records.ts';

/**
 * Maximum duration of a walk before the run is handed back. The activity of the walk has ten seconds; an activity that
 * exceeds them is repeated and would do the work of its last step twice.
 */
const maxWalkMs = 3_000;

export interface CallRef extends RunRef {
  /** The position of the step that calls out. */
  position: number;
}

/** The data that the activity that executes a call passes to the step. */
interface CallOptions {
  /** Attempts of a step in all, interrupted ones included, unless the step sets its own number. */
  maxAttempts: number;
  signal: AbortSignal;
  /** How long the model of a step is offered tools, from the beginning of the step. Then it has to answer. */
  toolsMs: number;
}

/** The activity that executes the steps. */
interface ContinueOptions extends CallOptions {
  /** Called with the step that calls out, before it does. */
  onCall(stepId: string): void;
  /** Checked before each further step, once a step has called out. */
  mayGoOn(): boolean;
}

/** Loads a run and executes its steps as `walk` does. */
export async function walkSteps(services: RunServices, scope: Scope, ref: RunRef): Promise<RunProgress> {
  const run = await RunExecution.load(services, scope, ref);
  return run ? walk(services, scope, run) : { kind: 'gone' };
}

/**
 * Executes the step at `position`, which calls out, and continues with the steps after it while the activity has time.
 * The row of each step makes a second execution harmless, so a retry begins with the failed step. Meanwhile the run has
 * a slot among those that call out. It keeps the slot when it is handed back before another step that calls out, or
 * before calls of tools. The record of its end releases the slot.
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
  let progress: RunProgress | undefined;
  try {
    progress = await executeSteps(services, scope, ref, options);
    return progress;
  } finally {
    // The record of an end released the slot, unless its lease had expired before.
    const isKept = progress?.kind === 'call' || progress?.kind === 'tools' || progress?.kind === 'ended';
    if (isKept) services.activeRuns.handOver(runId);
    else if (progress?.kind !== 'wait') await releaseSlot(services, scope, runId);
  }
}

/** Ends a run that cannot continue. Its current step fails with a message that does not reveal the cause. */
export async function failRun(services: RunServices, scope: Scope, ref: RunRef): Promise<object> {
  const run = await RunExecution.load(services, scope, ref);
  if (run && (isFlow(run.work.steps) || run.work.isTest)) return failFlow(services, scope, ref);
  const step = run?.step;
  if (!run || !step) return { kind: 'gone' };
  const facts = { position: run.position, step, startedAt: clock.date() };
  await run.finishStep(facts, {
    status: 'failed',
    code: 'internal_error',
    message: 'Something went wrong on our side.',
  });
  return run.record();
}

// A trigger starts and stops the clock of a run whose time is limited, as its status and its waits change. It keeps the time
// that was used when this statement takes the end away: a wait for a place of the organization is no executing time. The
// clock goes on with the next step.
const stopClock = statement({
  name: 'run.stop_clock',
  parameters: { runId: 'uuid' },
  text: `update run set times_out_at = null
    where organization_id = :organizationId and environment = :environment and id = :runId and times_out_at is not null`,
});

async function executeSteps(
  services: RunServices,
  scope: Scope,
  ref: CallRef,
  { onCall, mayGoOn, ...options }: ContinueOptions,
): Promise<RunProgress> {
  const { runId } = ref;
  const run = await RunExecution.load(services, scope, ref);
  if (!run) return { kind: 'gone' };
  let calls = run.position === ref.position;
  let hasCalled = false;
  for (;;) {
    const { step } = run;
    let progress: RunProgress;
    if (calls && step && isCalling(step)) {
      if (!hasCalled && !(await services.activeRuns.claim(scope, runId))) {
        if (run.work.maxDurationSeconds !== null) await scope.rows(stopClock, { runId });
        await run.notifyWaiters();
        return { kind: 'wait', position: run.position, stepId: step.id };
      }
      onCall(step.id);
      if (!hasCalled) await run.notifyWaiters();
      hasCalled = true;
      progress = await callStep(services, scope, runId, run, step, options);
    } else {
      progress = await walkBetweenCalls(services, scope, runId, run);
    }
    if (progress.kind === 'ended' || progress.kind === 'gone' || !run.ownsRun) return progress;
    if (progress.kind === 'tools') return progress;
    options.signal.throwIfAborted();
    if (hasCalled && !mayGoOn()) return progress;
    calls = progress.kind === 'call';
  }
}

/** Steps between two calls. When they fail unexpectedly they are handed back, because a walk of its own bounds its attempts. */
async function walkBetweenCalls(
  services: RunServices,
  scope: Scope,
  runId: string,
  run: RunExecution,
): Promise<RunProgress> {
  try {
    return await walk(services, scope, run);
  } catch (error) {
    services.log.warn({ err: error, runId }, 'steps that answer at once failed; they are executed anew');
    run.ownsRun = false;
    return { kind: 'walk' };
  }
}

/** A slot that cannot be released expires. */
async function releaseSlot({ activeRuns, log }: RunServices, scope: Scope, runId: string): Promise<void> {
  try {
    await activeRuns.release(scope, runId);
  } catch (error) {
    log.warn({ err: error, runId }, 'the slot of a run that calls out was not released');
  }
}

/**
 * Executes the steps from the current one on that finish at once and records them together: expressions, and models that
 * answer without leaving the process. A recorded step is not executed again. Ends the run after its last step, or when a
 * step fails. A long walk is handed back after a step.
 * @throws StorageFailure while the storage of large outputs is not available
 */
async function walk(services: RunServices, scope: Scope, run: RunExecution): Promise<RunProgress> {
  const { boundedWork } = services;
  const until = performance.now() + maxWalkMs;
  for (let { step } = run; step; { step } = run) {
    const facts = { position: run.position, step, startedAt: clock.date() };
    const { storageFault } = run;
    if (storageFault) {
      await run.finishStep(facts, storageFault);
      break;
    }
    if (isCalling(step)) {
      const end = await callInstantly(services, scope, run.context, step);
      if (!end) {
        await run.record();
        return { kind: 'call', position: facts.position, stepId: step.id };
      }
      const { asked, ...ending } = end;
      if ((await run.finishStep({ ...facts, ...asked }, ending)) === 'failed') break;
    } else {
      const end = await evaluateStep(boundedWork, scope.tenantKey, run.context, step);
      if ((await run.finishStep(facts, end)) === 'failed') break;
    }
    if (run.step && performance.now() > until) break;
    if (run.step && run.isTimeToRecord) await run.record();
  }
  const progress = await run.record();
  failPoint('step.recorded');
  return progress;
}

/**
 * Executes the current step of a run, a prompt or an action, and records it. Ends the run after its last step, or when the
 * step fails finally.
 * @returns `walk` also when another execution continues the run; `tools` when the model asks for tools
 * @throws ProviderFailure when a retry may succeed: only the attempt is recorded then; the signal's reason once it is
 *   aborted
 */
async function callStep(
  services: RunServices,
  scope: Scope,
  runId: string,
  run: RunExecution,
  step: CallingStep,
  { signal, ...options }: CallOptions,
): Promise<RunProgress> {
  const first = step.type === 'prompt' ? candidatesOf(step, run.work.byDefault)[0] : {};
  const begun = { position: run.position, step, ...first, startedAt: clock.date() };
  // The attempt is counted first, so that a step that always fails unexpectedly is not retried without end.
  const counted = await beginStep(scope, runId, begun);
  if (counted === undefined) {
    run.ownsRun = false;
    return { kind: 'walk' };
  }
  const { attempts: attempt, rounds, ageMs } = counted;
  // Each round of tools was an attempt that succeeded.
  const tried = attempt - rounds;
  services.waiters.notifyLocal(runId);
  const facts = { ...begun, attempt };
  const maxAttempts = attemptsOf(step, options.maxAttempts);
  const { storageFault } = run;
  if (storageFault && rounds === 0) {
    await run.finishStep(facts, storageFault);
  } else if (tried > maxAttempts) {
    // Attempts without a result: a killed worker, a timeout, a failed write.
    await run.finishStep(facts, { status: 'failed', code: 'timeout', message: 'The step was interrupted too often.' });
  } else {
    const mayCallTools = ageMs < options.toolsMs;
    const mayTryAgain = tried < maxAttempts;
    const attempting = { number: tried, mayTryAgain, mayWait: false, mayCallTools, signal };
    const outcome = await attemptStep(services, scope, run.context, step, attempting);
    if ('job' in outcome || 'slotAfterMs' in outcome) throw new Error(`The step ${step.id} cannot wait.`);
    if ('calls' in outcome) {
      const { round, calls } = outcome;
      const at = { position: run.position, stepId: step.id };
      return calls.length > 0 || round === 0 ? { kind: 'tools', ...at, round, calls } : { kind: 'call', ...at };
    }
    const { asked, ...end } = outcome;
    await storePaid((isLast) => run.finishStep({ ...facts, ...asked }, end, isLast), signal);
  }
  const progress = await run.record();
  failPoint('step.recorded');
  const next = run.step;
  // Saves a walk that would find only that.
  const isCall = next && callsOut(next, services.providers.mayBeInstant(scope.tenant.environment));
  return progress.kind === 'walk' && isCall ? { kind: 'call', position: run.position, stepId: next.id } : progress;
}
