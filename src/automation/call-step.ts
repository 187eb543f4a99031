import { setTimeout as sleep } from 'node:timers/promises';
import type { Scope } from '../platform/scope.ts';
import { ProviderFailure } from '../providers/ports.ts';
import { StorageFailure } from '../storage/failure.ts';
import { AdvancingRun, type RunProgress, type RunRef, type RunServices, type StepEnd } from './advance-run.ts';
import { askModels, askOnce, lastFailure, questionOf, StepFailure } from './ask-model.ts';
import { askWithTools, type ToolCalls } from './ask-with-tools.ts';
import type { AskedModel } from './core/run-status.ts';
import { callsOut, candidatesOf, type ModelChoice, type PromptStep, usesTools } from './core/steps.ts';
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

type StepOutcome = StepEnd & { asked?: { provider: string; model: string } };

async function ask(
  services: RunServices,
  scope: Scope,
  runId: string,
  run: AdvancingRun,
  step: PromptStep,
  attempt: Attempt,
): Promise<StepOutcome | ToolCalls> {
  const models: AskedModel[] = [];
  const end = await askCounted(services, scope, runId, run, step, attempt, models);
  return models.length > 1 && !('calls' in end) ? { ...end, models } : end;
}

async function askCounted(
  services: RunServices,
  scope: Scope,
  runId: string,
  run: AdvancingRun,
  step: PromptStep,
  { number, mayTryAgain, signal }: Attempt,
  models: AskedModel[],
): Promise<StepOutcome | ToolCalls> {
  const { tenant, correlationId } = scope;
  const facts = { runId, stepId: step.id, attempt: number, correlationId, ...tenant };
  const onFailure = (asked: ModelChoice, { kind, status, requestId }: ProviderFailure) =>
    services.log.warn({ ...facts, ...asked, kind, status, providerRequestId: requestId }, 'a model failed');
  try {
    const question = questionOf(step, await valuesFor(run, step), run.work.byDefault);
    services.log.info(facts, 'model called');
    const call = { attempt: number, signal };
    const ref = { runId, position: run.position };
    const answer = usesTools(step)
      ? await askWithTools(services, scope, ref, step, question, call, models, onFailure)
      : await askModels(tenant, question, call, models, onFailure, askOnce(services, tenant.environment, question));
    if ('calls' in answer) return answer;
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
  /** Whether the workflow can have tools called; those of earlier versions cannot. */
  mayUseTools: boolean;
}

const cannotUseTools: StepEnd = {
  ...{ status: 'failed', code: 'service_unavailable' },
  message: 'The run began in an earlier version of the service, which cannot use tools. Retry it.',
};

/**
 * Executes the current step of a run, a prompt, and records it. Ends the run after its last step, or when the step fails
 * finally.
 * @returns `walk` also when somebody else continues the run; `tools` when the model asks for tools
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
  const counted = await beginStep(scope, runId, begun);
  if (counted === undefined) {
    run.isOurs = false;
    return { kind: 'walk' };
  }
  const { attempts: attempt, rounds } = counted;
  // Each round of tools was an attempt that succeeded.
  const tried = attempt - rounds;
  services.waiters.tell(runId);
  const facts = { ...begun, attempt };
  const maxAttempts = step.retry?.maxAttempts ?? options.maxAttempts;
  if (usesTools(step) && !options.mayUseTools) {
    await run.finishStep(facts, cannotUseTools);
  } else if (tried > maxAttempts) {
    // Attempts without a result: a killed worker, a timeout, a failed write.
    await run.finishStep(facts, { status: 'failed', code: 'timeout', message: 'The step was interrupted too often.' });
  } else {
    const attempting = { number: tried, mayTryAgain: tried < maxAttempts, signal };
    const outcome = await ask(services, scope, runId, run, step, attempting);
    if ('calls' in outcome) {
      const at = { position: run.position, stepId: step.id };
      return outcome.calls.length > 0 ? { kind: 'tools', ...at, ...outcome } : { kind: 'call', ...at };
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
