import { setTimeout as sleep } from 'node:timers/promises';
import { ProviderFailure } from '../platform/provider-failure.ts';
import type { Scope } from '../platform/scope.ts';
import { StorageFailure } from '../storage/index.ts';
import { askModels, askOnce, isInstant, lastFailure, questionOf, StepFailure } from './ask-model.ts';
import { askWithTools, type ToolCalls } from './ask-with-tools.ts';
import { type AskedModel, storageFailed } from './core/run-status.ts';
import { stepsNamed } from './core/step-references.ts';
import {
  type CallingStep,
  callsOut,
  candidatesOf,
  isCalling,
  type ModelChoice,
  type PromptStep,
  usesTools,
} from './core/steps.ts';
import { evaluateStep, isExpressionFault } from './evaluate-step.ts';
import { failPoint } from './fail-points.ts';
import { performStep } from './perform-step.ts';
import { RunExecution, type RunProgress, type RunRef, type RunServices, type StepEnd } from './run-execution.ts';
import { beginStep, type StepFacts } from './run-records.ts';
import { storable, storableWithoutBlocking } from './storable.ts';

/**
 * How long a walk goes on before it is handed back. The activity that walks has ten seconds, and one that is repeated because
 * they are over would do the work of its last step twice.
 */
const maxWalkMs = 3_000;

export interface CallRef extends RunRef {
  /** Of the step that calls out. */
  position: number;
}

/** What the activity that executes a call tells the step. */
interface CallOptions {
  /** Attempts of a step in all, interrupted ones included, unless the step sets its own number. */
  maxAttempts: number;
  signal: AbortSignal;
  /** How long the model of a step is offered tools, from the beginning of the step. Then it has to answer. */
  toolsMs: number;
}

/** The activity that executes the steps. */
export interface ContinueOptions extends CallOptions {
  /** Told which step calls out, before it does. */
  onCall(stepId: string): void;
  /** Asked before each further step, once a step has called out. */
  mayGoOn(): boolean;
}

/** Loads a run and executes its steps as `walk` does. */
export async function walkSteps(services: RunServices, scope: Scope, ref: RunRef): Promise<RunProgress> {
  const run = await RunExecution.load(services, scope, ref);
  return run ? walk(services, scope, ref.runId, run) : { kind: 'gone' };
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
  let progress: RunProgress | undefined;
  try {
    progress = await executeSteps(services, scope, ref, options);
    return progress;
  } finally {
    if (progress?.kind === 'call' || progress?.kind === 'tools') services.callingRuns.handOver(runId);
    else if (progress?.kind !== 'wait' && progress?.kind !== 'ended') await giveUpSlot(services, scope, runId);
  }
}

/** Ends a run that cannot continue. Its current step fails with a message that does not reveal the cause. */
export async function failRun(services: RunServices, scope: Scope, ref: RunRef): Promise<RunProgress> {
  const run = await RunExecution.load(services, scope, ref);
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
      if (!hasCalled && !(await services.callingRuns.claim(scope, runId))) {
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
    if (progress.kind === 'ended' || progress.kind === 'gone' || !run.isOurs) return progress;
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
    return await walk(services, scope, runId, run);
  } catch (error) {
    services.log.warn({ err: error, runId }, 'steps that answer at once failed; they are executed anew');
    run.isOurs = false;
    return { kind: 'walk' };
  }
}

/** A place that cannot be given up runs out. */
async function giveUpSlot({ callingRuns, log }: RunServices, scope: Scope, runId: string): Promise<void> {
  try {
    await callingRuns.leave(scope, runId);
  } catch (error) {
    log.warn({ err: error, runId }, 'the place of a calling run was not given up');
  }
}

/**
 * Executes the steps from the current one on that finish at once and records them together: expressions, and models that
 * answer without leaving the process. A recorded step is not executed again. Ends the run after its last step, or when a
 * step fails. A long walk is handed back after a step.
 * @throws StorageFailure while the storage of large outputs is not available
 */
async function walk(services: RunServices, scope: Scope, runId: string, run: RunExecution): Promise<RunProgress> {
  const { boundedWork } = services;
  const until = performance.now() + maxWalkMs;
  for (let { step } = run; step; { step } = run) {
    const facts = { position: run.position, step, startedAt: new Date() };
    const { storageFault } = run;
    if (storageFault) {
      await run.finishStep(facts, storageFault);
      break;
    }
    if (isCalling(step)) {
      const end = await callInstantly(services, scope, runId, run, step);
      if (!end) {
        await run.record();
        return { kind: 'call', position: facts.position, stepId: step.id };
      }
      const { asked, ...ending } = end;
      if ((await run.finishStep({ ...facts, ...asked }, ending)) === 'failed') break;
    } else {
      const end = await evaluateStep(boundedWork, scope.tenantKey, run, step);
      if ((await run.finishStep(facts, end)) === 'failed') break;
    }
    if (run.step && performance.now() > until) break;
    if (run.step && run.isTimeToRecord) await run.record();
  }
  const progress = await run.record();
  failPoint('step.recorded');
  return progress;
}

/** @returns undefined when the step takes time */
async function callInstantly(services: RunServices, scope: Scope, runId: string, run: RunExecution, step: CallingStep) {
  const mayBeInstant = services.providers.mayBeInstant(scope.tenant.environment);
  if (step.type !== 'prompt' || callsOut(step, mayBeInstant)) return undefined;
  const [asked] = candidatesOf(step, run.work.byDefault);
  const end = await askInstantModel(services, scope, runId, run, step);
  return end && { asked, ...end };
}

/** @returns undefined when the model takes time or failed */
async function askInstantModel(
  services: RunServices,
  { tenant, tenantKey, correlationId }: Scope,
  runId: string,
  run: RunExecution,
  step: PromptStep,
): Promise<(StepEnd & { asked?: ModelChoice }) | undefined> {
  const { log, providers } = services;
  const models: AskedModel[] = [];
  const tried = () => models.length > 1 && { models };
  try {
    const question = questionOf(step, await valuesFor(run, step), run.work.byDefault);
    if (!isInstant(providers, tenant.environment, question)) return undefined;
    log.info({ runId, stepId: step.id, attempt: 1, correlationId, ...tenant }, 'model called');
    const call = { attempt: 1, signal: new AbortController().signal };
    const ask = askOnce(services, tenant.environment, question);
    const answer = await askModels(tenantKey, question, call, models, () => {}, ask);
    const { output, tokensUsed, warnings, asked } = answer;
    failPoint('step.called');
    const stored = storable(output);
    if (!stored) throw new StepFailure('internal_error', 'The answer is too large.', tokensUsed);
    return { status: 'completed', output: stored, tokensUsed, warnings, asked, ...tried() };
  } catch (error) {
    if (isExpressionFault(error)) return { status: 'failed', code: 'expression_error', message: error.message };
    if (error instanceof StepFailure) {
      const { code, message, tokensUsed } = error;
      return { status: 'failed', code, message, tokensUsed, ...tried() };
    }
    if (error instanceof ProviderFailure) return undefined;
    throw error;
  }
}

/**
 * Executes the current step of a run, a prompt or an action, and records it. Ends the run after its last step, or when the
 * step fails finally.
 * @returns `walk` also when somebody else continues the run; `tools` when the model asks for tools
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

/** Pauses between attempts to store an answer. It is paid for: another call of the model would cost again. */
const storePausesMs = [500, 2_000, 5_000];

async function finishPaid(run: RunExecution, facts: StepFacts, end: StepEnd, signal: AbortSignal): Promise<void> {
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

/** Attempts that a crash interrupted are repeated, which is safe for actions: their key prevents a second one. */
function attemptsOf({ type, retry }: CallingStep, byDefault: number): number {
  const own = retry?.maxAttempts;
  return type === 'action' ? Math.max(own ?? 1, byDefault) : (own ?? byDefault);
}

/** One attempt of a step. */
interface Attempt {
  /** From 1. */
  number: number;
  /** Whether a failure that may pass is thrown. */
  mayTryAgain: boolean;
  /** Whether there is time for tools. */
  mayCallTools: boolean;
  signal: AbortSignal;
}

/** How a step ended, and the model that decided that. */
type StepOutcome = StepEnd & { asked?: ModelChoice };

/**
 * Makes one attempt of the current step of a run: asks its model, or performs its action.
 * @returns how the step ended, or the calls of tools that its model asks for
 * @throws ProviderFailure and StorageFailure when another attempt may succeed; the signal's reason once it is aborted
 */
async function attemptStep(
  services: RunServices,
  scope: Scope,
  runId: string,
  run: RunExecution,
  step: CallingStep,
  attempt: Attempt,
): Promise<StepOutcome | ToolCalls> {
  const models: AskedModel[] = [];
  const tried = () => models.length > 1 && { models };
  try {
    if (step.type === 'action') return await performAction(services, scope, runId, run, step, attempt);
    const outcome = await askModelOf(services, scope, runId, run, step, attempt, models);
    return 'calls' in outcome ? outcome : { ...outcome, ...tried() };
  } catch (error) {
    if (isExpressionFault(error)) return { status: 'failed', code: 'expression_error', message: error.message };
    const mayPass = error instanceof ProviderFailure || error instanceof StorageFailure;
    if (mayPass && attempt.mayTryAgain) throw error;
    const failure = error instanceof ProviderFailure ? lastFailure(error) : error;
    // The outputs that the step uses could not be read.
    if (failure instanceof StorageFailure) {
      return Object.assign({ status: 'failed' as const }, storageFailed(failure.message));
    }
    if (!(failure instanceof StepFailure)) throw failure;
    const { code, message, tokensUsed } = failure;
    return { status: 'failed', code, message, tokensUsed, ...tried() };
  }
}

async function askModelOf(
  services: RunServices,
  scope: Scope,
  runId: string,
  run: RunExecution,
  step: PromptStep,
  { number, mayCallTools, signal }: Attempt,
  models: AskedModel[],
): Promise<StepOutcome | ToolCalls> {
  const { tenant, correlationId } = scope;
  const facts = { runId, stepId: step.id, attempt: number, correlationId, ...tenant };
  const onFailure = (asked: ModelChoice, { kind, status, requestId }: ProviderFailure) =>
    services.log.warn({ ...facts, ...asked, kind, status, providerRequestId: requestId }, 'a model failed');
  const question = questionOf(step, await valuesFor(run, step), run.work.byDefault);
  services.log.info(facts, 'model called');
  const call = { attempt: number, signal };
  const ref = { runId, position: run.position };
  const answer = usesTools(step)
    ? await askWithTools(services, scope, { ...ref, mayCallTools }, question, call, models, onFailure)
    : await askModels(
        scope.tenantKey,
        question,
        call,
        models,
        onFailure,
        askOnce(services, tenant.environment, question),
      );
  if ('calls' in answer) return answer;
  failPoint('step.called');
  const { tokensUsed, warnings, asked } = answer;
  const output = await storableWithoutBlocking(services.boundedWork, scope.tenantKey, answer.output);
  if (!output) throw new StepFailure('internal_error', 'The answer is too large.', tokensUsed);
  return { status: 'completed', output, tokensUsed, warnings, asked };
}

async function performAction(
  { stepActions, log }: RunServices,
  scope: Scope,
  runId: string,
  run: RunExecution,
  step: Exclude<CallingStep, PromptStep>,
  { number, signal }: Attempt,
): Promise<StepOutcome> {
  const { tenant, correlationId } = scope;
  const { id: stepId, integration, action } = step;
  log.info({ runId, stepId, integration, action, attempt: number, correlationId, ...tenant }, 'action performed');
  const ref = { runId, position: run.position };
  // Where the integration is limited, the step says whether it waits.
  const mayTryAgain = number < (step.retry?.maxAttempts ?? 1);
  const end = await performStep(stepActions, scope, ref, step, await valuesFor(run, step), { mayTryAgain, signal });
  failPoint('step.called');
  return end;
}

/** The values for the templates of a step. */
async function valuesFor(run: RunExecution, step: CallingStep) {
  const { input, variables } = run.work;
  return { input, variables, steps: await run.outputs.of(stepsNamed(step)) };
}
