import { failPoint } from '../platform/fail-points.ts';
import type { Log } from '../platform/log.ts';
import type { Scope } from '../platform/scope.ts';
import { ProviderFailure, type TextAnswer, type TextRequest } from '../providers/ports.ts';
import type { ProviderRegistry } from '../providers/registry.ts';
import type { RunError, RunErrorCode } from './core/run-status.ts';
import { modelOf, type Step } from './core/steps.ts';
import { renderTemplate, TemplateTooLong, type Warning } from './core/template.ts';
import {
  beginStep,
  endStep,
  finishRun,
  loadStepWork,
  type RunEnd,
  type StepEnd,
  type StepFacts,
  type StepWork,
} from './record-run.ts';
import type { RunWaiters } from './run-waiters.ts';
import type { RunOutput } from './runs.ts';

export interface RunServices {
  providers: ProviderRegistry;
  waiters: RunWaiters;
  log: Log;
  /** Told of every run that ends here. */
  countRunEnd(status: 'completed' | 'failed'): void;
}

export interface RunRef {
  runId: string;
  position: number;
  /** Notification channel of the process that waits for the run's end, or null. */
  waiter: string | null;
}

export interface StepRef extends RunRef {
  last: boolean;
  /** How often the step may be tried in all, attempts that were cut off included. */
  maxAttempts: number;
}

/**
 * - completed: go on
 * - failed: the run has failed and is recorded so
 * - gone: the run was deleted or ended otherwise; there is nothing left to do
 * - not_instant: nothing was done; the call takes time and belongs in an ordinary activity
 */
export type StepOutcome = 'completed' | 'failed' | 'gone' | 'not_instant';

/** A prompt step without a template hands its input on. */
const defaultTemplate = '{{input}}';

const chosenModel = (work: StepWork, step: Step) => modelOf(step, { provider: work.aiProvider, model: work.aiModel });

const requestFor = (work: StepWork, step: Step): { request: TextRequest; warnings: Warning[] } => {
  const values = { input: work.input, variables: work.variables, steps: work.outputs };
  const prompt = renderTemplate(step.prompt ?? defaultTemplate, values);
  const system = step.system === undefined ? undefined : renderTemplate(step.system, values);
  const request = {
    ...chosenModel(work, step),
    prompt: prompt.text,
    ...(system && { system: system.text }),
    ...(step.temperature !== undefined && { temperature: step.temperature }),
    ...(step.maxTokens !== undefined && { maxTokens: step.maxTokens }),
  };
  return { request, warnings: [...prompt.warnings, ...(system?.warnings ?? [])] };
};

/** A finished run wakes its waiter: inside this process at once, elsewhere by the notification in the transaction. */
const remoteWaiter = ({ waiters }: RunServices, waiter: string | null) => (waiter === waiters.channel ? null : waiter);

function ended(services: RunServices, runId: string, status: 'completed' | 'failed'): void {
  services.waiters.settle(runId);
  services.countRunEnd(status);
}

/**
 * Performs one step and records it; the last one, and one that fails for good, ends the run with it. A step that is
 * already recorded is not performed again.
 * @param call absent for an instant try, which declines whatever would take time
 * @throws ProviderFailure when another attempt may succeed; nothing but the attempt is recorded then
 */
export async function performStep(
  services: RunServices,
  scope: Scope,
  ref: StepRef,
  call?: { signal: AbortSignal },
): Promise<StepOutcome> {
  const startedAt = new Date();
  const work = await loadStepWork(scope, ref.runId, ref.position);
  if (!work?.step || (work.status !== 'queued' && work.status !== 'running')) return 'gone';
  if (work.recorded?.status === 'completed') return 'completed';
  const { step } = work;
  const facts: StepFacts = { ...ref, step, ...chosenModel(work, step), startedAt };
  // Counted before anything else can go wrong, so that what always goes wrong does not go on for ever.
  const attempt = call ? await beginStep(scope, facts) : 1;
  if (attempt === undefined) return 'gone';

  const record = async (end: StepEnd, run: RunEnd) => {
    const recorded = await endStep(scope, facts, end, run, remoteWaiter(services, ref.waiter));
    failPoint('step.recorded');
    if (recorded && run) ended(services, ref.runId, run.status);
    return recorded ? end.status : 'gone';
  };
  const fail = (message: string, code: RunErrorCode, warnings: Warning[] = []) => {
    const error: RunError = { stepId: step.id, message, code };
    return record({ status: 'failed', error, warnings }, { status: 'failed', error });
  };
  // Attempts that ended without a word (a killed worker, a time limit, a record that could not be written) count too.
  if (attempt > ref.maxAttempts) return fail('The step was interrupted too often.', 'timeout');

  let asked: ReturnType<typeof requestFor>;
  try {
    asked = requestFor(work, step);
  } catch (error) {
    if (error instanceof TemplateTooLong) return fail(error.message, 'expression_error');
    throw error;
  }
  const { request, warnings } = asked;
  const model = services.providers.textModel(scope.tenant.environment, facts.provider);
  if (!call && !model.isInstant(request)) return 'not_instant';

  const { tenant, correlationId } = scope;
  services.log.info({ runId: ref.runId, stepId: step.id, attempt, correlationId, ...tenant }, 'model called');
  let answer: TextAnswer;
  try {
    answer = await model.generate(request, { attempt, signal: call?.signal ?? new AbortController().signal });
  } catch (failure) {
    if (!(failure instanceof ProviderFailure)) throw failure;
    if (failure.retryable && attempt < ref.maxAttempts) throw failure;
    return fail(failure.message, 'service_unavailable', warnings);
  }
  failPoint('step.called');
  const output = answer.text;
  const result: RunOutput = { result: output, steps: { ...work.outputs, [step.id]: output } };
  const tokensUsed = answer.inputTokens + answer.outputTokens;
  const run: RunEnd = ref.last ? { status: 'completed', output: result } : undefined;
  return record({ status: 'completed', output, tokensUsed, warnings }, run);
}

/** Completes a run that has no step left to perform: its result is its input when it never had any. */
export async function completeRun(services: RunServices, scope: Scope, ref: RunRef): Promise<void> {
  const work = await loadStepWork(scope, ref.runId, ref.position);
  if (!work) return;
  const output: RunOutput = { result: work.input, steps: work.outputs };
  const finished = await finishRun(scope, ref.runId, output, remoteWaiter(services, ref.waiter));
  if (finished) ended(services, ref.runId, 'completed');
}
