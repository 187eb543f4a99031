import { setTimeout as sleep } from 'node:timers/promises';
import type { Scope } from '../platform/scope.ts';
import { ProviderFailure } from '../providers/ports.ts';
import { StorageFailure } from '../storage/failure.ts';
import { AdvancingRun, type RunProgress, type RunRef, type RunServices, type StepEnd } from './advance-run.ts';
import { askModels, lastFailure, questionOf, StepFailure } from './ask-model.ts';
import type { AskedModel } from './core/run-status.ts';
import { candidatesOf, type PromptStep } from './core/steps.ts';
import { isExpressionFault } from './evaluate-step.ts';
import { failPoint } from './fail-points.ts';
import { beginStep, type StepFacts } from './record-run.ts';
import { storable } from './storable.ts';
import { valuesFor } from './walk-steps.ts';

interface Attempt {
  number: number;
  mayTryAgain: boolean;
  signal: AbortSignal;
}

async function ask(
  services: RunServices,
  scope: Scope,
  runId: string,
  run: AdvancingRun,
  step: PromptStep,
  attempt: Attempt,
): Promise<StepEnd & { asked?: { provider: string; model: string } }> {
  const models: AskedModel[] = [];
  const end = await askOnce(services, scope, runId, run, step, attempt, models);
  return models.length > 1 ? { ...end, models } : end;
}

async function askOnce(
  services: RunServices,
  { tenant, correlationId }: Scope,
  runId: string,
  run: AdvancingRun,
  step: PromptStep,
  { number, mayTryAgain, signal }: Attempt,
  models: AskedModel[],
): Promise<StepEnd & { asked?: { provider: string; model: string } }> {
  const facts = { runId, stepId: step.id, attempt: number, correlationId, ...tenant };
  try {
    const question = questionOf(step, await valuesFor(run, step), run.work.byDefault);
    services.log.info(facts, 'model called');
    const answer = await askModels(
      services,
      tenant,
      question,
      { attempt: number, signal },
      models,
      (asked, { kind, status, requestId }) =>
        services.log.warn({ ...facts, ...asked, kind, status, providerRequestId: requestId }, 'a model failed'),
    );
    failPoint('step.called');
    const { tokensUsed, warnings, asked } = answer;
    const output = storable(answer.output);
    if (!output) throw new StepFailure('internal_error', 'The answer is too large.', tokensUsed);
    return { status: 'completed', output, tokensUsed, warnings, asked };
  } catch (error) {
    if (isExpressionFault(error)) return { status: 'failed', code: 'expression_error', message: error.message };
    const mayPass = error instanceof ProviderFailure || error instanceof StorageFailure;
    if (mayPass && mayTryAgain) throw error;
    const failure = error instanceof ProviderFailure ? lastFailure(error) : error;
    // The outputs that the question is made of could not be read.
    if (failure instanceof StorageFailure) {
      return { status: 'failed', code: 'service_unavailable', message: failure.message };
    }
    if (!(failure instanceof StepFailure)) throw failure;
    const { code, message, tokensUsed } = failure;
    return { status: 'failed', code, message, tokensUsed };
  }
}

/** Pauses between attempts to store an answer: it is paid for, and asked for again it would be paid for again. */
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
}

/**
 * Executes the current step of a run, a prompt, and records it. Ends the run after its last step, or when the step fails
 * finally.
 * @returns `walk` also when somebody else continues the run
 * @throws ProviderFailure when a retry may succeed: only the attempt is recorded then; the signal's reason once it is
 *   aborted
 */
export async function callStep(
  services: RunServices,
  scope: Scope,
  runId: string,
  run: AdvancingRun,
  step: PromptStep,
  { signal, ...options }: CallOptions,
): Promise<RunProgress> {
  const [first] = candidatesOf(step, run.work.byDefault);
  const begun = { position: run.position, step, ...first, startedAt: new Date() };
  // The attempt is counted first, so that a step that always fails unexpectedly is not retried without end.
  const attempt = await beginStep(scope, runId, begun);
  if (attempt === undefined) {
    run.isOurs = false;
    return { kind: 'walk' };
  }
  services.waiters.tell(runId);
  const facts = { ...begun, attempt };
  const maxAttempts = step.retry?.maxAttempts ?? options.maxAttempts;
  if (attempt > maxAttempts) {
    // Attempts without a result: a killed worker, a timeout, a failed write.
    await run.finishStep(facts, { status: 'failed', code: 'timeout', message: 'The step was interrupted too often.' });
  } else {
    const attempting = { number: attempt, mayTryAgain: attempt < maxAttempts, signal };
    const { asked, ...end } = await ask(services, scope, runId, run, step, attempting);
    await finishPaid(run, { ...facts, ...asked }, end, signal);
  }
  const progress = await run.record();
  failPoint('step.recorded');
  const next = run.step;
  // Saves a walk that would find only that.
  const callsOut = next?.type === 'prompt' && !services.providers.mayBeInstant(scope.tenant.environment);
  return progress.kind === 'walk' && callsOut ? { kind: 'call', position: run.position, stepId: next.id } : progress;
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
