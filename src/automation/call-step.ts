import { setTimeout as sleep } from 'node:timers/promises';
import type { Scope } from '../platform/scope.ts';
import { StorageFailure } from '../storage/failure.ts';
import { AdvancingRun, type RunProgress, type RunRef, type RunServices, type StepEnd } from './advance-run.ts';
import { attemptStep } from './attempt-step.ts';
import { type CallingStep, callsOut, candidatesOf, usesTools } from './core/steps.ts';
import { failPoint } from './fail-points.ts';
import { beginStep, type StepFacts } from './record-run.ts';

/** Pauses between attempts to store an answer. It is paid for: another call of the model would cost again. */
const storePausesMs = [500, 2_000, 5_000];

async function finishPaid(run: AdvancingRun, facts: StepFacts, end: StepEnd, signal: AbortSignal): Promise<void> {
  for (const pauseMs of storePausesMs) {
    try {
      await run.finishStep(facts, end);
      return;
    } catch (error) {
      if (!(error instanceof StorageFailure)) throw error;
    }
    await sleep(pauseMs, undefined, { signal });
  }
  await run.finishStep(facts, end, true);
}

/** What the activity that executes a call tells the step. */
export interface CallOptions {
  /** Attempts of a step in all, interrupted ones included, unless the step sets its own number. */
  maxAttempts: number;
  signal: AbortSignal;
  /** Whether the workflow can have tools called; those of earlier versions cannot. */
  mayUseTools: boolean;
  /** How long the model of a step is offered tools, from the beginning of the step. Then it has to answer. */
  toolsMs: number;
}

/** Attempts that a crash interrupted are repeated, which is safe for actions: their key prevents a second one. */
function attemptsOf({ type, retry }: CallingStep, byDefault: number): number {
  const own = retry?.maxAttempts;
  return type === 'action' ? Math.max(own ?? 1, byDefault) : (own ?? byDefault);
}

const cannotUseTools: StepEnd = {
  status: 'failed',
  code: 'service_unavailable',
  message: 'The run began in an earlier version of the service, which cannot use tools. Retry it.',
};

/**
 * Executes the current step of a run, a prompt or an action, and records it. Ends the run after its last step, or when the
 * step fails finally.
 * @returns `walk` also when somebody else continues the run; `tools` when the model asks for tools
 * @throws ProviderFailure when a retry may succeed: only the attempt is recorded then; the signal's reason once it is
 *   aborted
 */
export async function callStep(
  services: RunServices,
  scope: Scope,
  runId: string,
  run: AdvancingRun,
  step: CallingStep,
  { signal, ...options }: CallOptions,
): Promise<RunProgress> {
  const first = step.type === 'prompt' ? candidatesOf(step, run.work.byDefault)[0] : {};
  const begun = { position: run.position, step, ...first, startedAt: new Date() };
  // The attempt is counted first, so that a step that always fails unexpectedly is not retried without end.
  const counted = await beginStep(scope, runId, begun);
  if (counted === undefined) {
    run.isOurs = false;
    return { kind: 'walk' };
  }
  const { attempts: attempt, rounds, ageMs } = counted;
  // Each round of tools was an attempt that succeeded.
  const tried = attempt - rounds;
  services.waiters.tell(runId);
  const facts = { ...begun, attempt };
  const maxAttempts = attemptsOf(step, options.maxAttempts);
  const { storageFault } = run;
  if (storageFault && rounds === 0) {
    await run.finishStep(facts, storageFault);
  } else if (step.type === 'prompt' && usesTools(step) && !options.mayUseTools) {
    await run.finishStep(facts, cannotUseTools);
  } else if (tried > maxAttempts) {
    // Attempts without a result: a killed worker, a timeout, a failed write.
    await run.finishStep(facts, { status: 'failed', code: 'timeout', message: 'The step was interrupted too often.' });
  } else {
    const mayCallTools = ageMs < options.toolsMs;
    const attempting = { number: tried, mayTryAgain: tried < maxAttempts, mayCallTools, signal };
    const outcome = await attemptStep(services, scope, runId, run, step, attempting);
    if ('calls' in outcome) {
      const { round, calls } = outcome;
      const at = { position: run.position, stepId: step.id };
      return calls.length > 0 || round === 0 ? { kind: 'tools', ...at, round, calls } : { kind: 'call', ...at };
    }
    const { asked, ...end } = outcome;
    await finishPaid(run, { ...facts, ...asked }, end, signal);
  }
  const progress = await run.record();
  failPoint('step.recorded');
  const next = run.step;
  // Saves a walk that would find only that.
  const isCall = next && callsOut(next, services.providers.mayBeInstant(scope.tenant.environment));
  return progress.kind === 'walk' && isCall ? { kind: 'call', position: run.position, stepId: next.id } : progress;
}

/** Ends a run that cannot continue. Its current step fails with a message that does not reveal the cause. */
export async function failRun(services: RunServices, scope: Scope, ref: RunRef): Promise<RunProgress> {
  const run = await AdvancingRun.load(services, scope, ref);
  const step = run?.step;
  if (!run || !step) return { kind: 'gone' };
  const facts = { position: run.position, step, startedAt: new Date() };
  await run.finishStep(facts, {
    status: 'failed',
    code: 'internal_error',
    message: 'Something went wrong on our side.',
  });
  return run.record();
}
