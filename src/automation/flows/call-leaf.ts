import type { Scope } from '../../platform/database/scope.ts';
import { ProviderFailure } from '../../platform/provider-failure.ts';
import { StorageFailure } from '../../storage/index.ts';
import type { RunPolicy } from '../../temporal/contracts/automation.ts';
import { httpAttempts } from '../core/http-request.ts';
import { templatesIn } from '../core/payload.ts';
import { type FeatureStep, type HttpStep, isFeatureStep } from '../core/step-types.ts';
import { type CallingStep, isCalling, type ModelChoice, type Step } from '../core/steps.ts';
import { templateNames } from '../core/template.ts';
import type { MatchServices } from '../events/event-value.ts';
import type { CreateRunServices } from '../runs/create-run.ts';
import type { RunServices } from '../runs/run-execution.ts';
import type { DayServices } from '../starts/day-window.ts';
import type { ToolCalls } from '../steps/ask-with-tools.ts';
import { type Attempt, attemptStep, attemptsOf } from '../steps/attempt-step.ts';
import { isExpressionFault } from '../steps/evaluate-step.ts';
import type { StepWaits } from '../steps/perform-step.ts';
import type { StepContext, StepEnd, StepOutcome } from '../steps/step-context.ts';
import type { StoredEnd } from '../steps/step-outputs.ts';
import { storePaid } from '../steps/store-paid.ts';
import { type HttpServices, performHttp } from './http/perform-http.ts';
import type { BegunRow } from './record-sql.ts';

export type FlowServices = RunServices & HttpServices & CreateRunServices & DayServices & Pick<MatchServices, 'events'>;

/** A step of a flow that leaves the process. */
export type LeavingStep = CallingStep | HttpStep | FeatureStep;

export const isLeaving = (step: Step): step is LeavingStep =>
  isCalling(step) || step.type === 'http' || isFeatureStep(step);

/**
 * The result of one attempt of a step that calls out. `waits`: for its job, or for a slot. `retry`: another attempt may
 * succeed after this time.
 */
export type LeafResult =
  | { kind: 'ended'; end: StoredEnd; asked?: ModelChoice | undefined }
  | { kind: 'tools'; calls: ToolCalls }
  | { kind: 'waits'; on: StepWaits }
  | { kind: 'retry'; afterMs: number }
  | { kind: 'aborted' };

interface LeafCall {
  context: StepContext;
  step: LeavingStep;
  begun: Pick<BegunRow, 'attempts' | 'rounds' | 'ageMs'>;
  /** Stores its result. */
  keep(end: StepEnd, isLast: boolean): Promise<StoredEnd>;
  /** Aborted when the step is to be stopped. */
  signal: AbortSignal;
}

/** The end of a step whose call was cut off. */
const interrupted = { status: 'failed', code: 'timeout', fault: 'unknown' } as const;

/** How long a step waits before its next attempt. @param tried attempts so far */
function pauseOf({ modelCall: { retry, maximumRetryAfterMs } }: RunPolicy, tried: number, failure: unknown): number {
  const asked = failure instanceof ProviderFailure ? failure.retryAfterMs : undefined;
  if (asked !== undefined) return Math.min(asked, maximumRetryAfterMs);
  return Math.min(retry.initialIntervalMs * retry.backoff ** (tried - 1), retry.maximumIntervalMs);
}

/**
 * Attempts that a crash interrupted are repeated: a request that must not be repeated is recorded before it is sent.
 */
const maxAttemptsOf = (step: LeavingStep, byDefault: number): number =>
  step.type === 'http' ? Math.max(httpAttempts(step), byDefault) : attemptsOf(step, byDefault);

async function attemptLeaf(
  services: FlowServices,
  scope: Scope,
  context: StepContext,
  step: LeavingStep,
  attempt: Attempt,
): Promise<StepOutcome | ToolCalls | StepWaits> {
  if (step.type !== 'http') return attemptStep(services, scope, context, step, attempt);
  const { url, query, headers, body } = step;
  const named = new Set(templatesIn({ url, query, headers, body }).flatMap(templateNames));
  const { runId, position, actionKey: key } = context;
  const { number, signal } = attempt;
  try {
    return await performHttp(services, scope, step, await context.values(named), {
      runId,
      position,
      key,
      number,
      signal,
    });
  } catch (error) {
    if (isExpressionFault(error)) return { status: 'failed', code: 'expression_error', message: error.message };
    throw error;
  }
}

/** Makes one attempt of a step that calls out, and stores its output. Its row already counts the attempt. */
export async function callLeaf(
  services: FlowServices,
  scope: Scope,
  policy: RunPolicy,
  call: LeafCall,
): Promise<LeafResult> {
  const { context, step, begun, signal } = call;
  const tried = begun.attempts - begun.rounds;
  const { modelCall } = policy;
  const maxAttempts = maxAttemptsOf(step, modelCall.retry.maximumAttempts);
  const ended = async (end: StepEnd, asked?: ModelChoice): Promise<LeafResult> => ({
    kind: 'ended',
    end: await storePaid((isLast) => call.keep(end, isLast), call.signal),
    asked,
  });
  if (tried > maxAttempts) {
    // Attempts without a result: a killed worker, a timeout, a failed write.
    return ended({ ...interrupted, message: 'The step was interrupted too often.' });
  }
  const timeout = AbortSignal.timeout(modelCall.timeoutMs);
  const mayTryAgain = tried < maxAttempts;
  try {
    const mayCallTools = begun.ageMs < modelCall.timeoutMs;
    const attempt = {
      number: tried,
      mayTryAgain,
      mayWait: true,
      mayCallTools,
      signal: AbortSignal.any([signal, timeout]),
    };
    const outcome = await attemptLeaf(services, scope, context, step, attempt);
    if ('calls' in outcome) return { kind: 'tools', calls: outcome };
    if ('job' in outcome || 'slotAfterMs' in outcome) return { kind: 'waits', on: outcome };
    const { asked, ...end } = outcome;
    return await ended(end, asked);
  } catch (error) {
    if (signal.aborted) return { kind: 'aborted' };
    const isPassing = error instanceof ProviderFailure || error instanceof StorageFailure || timeout.aborted;
    if (!isPassing) throw error;
    if (mayTryAgain) return { kind: 'retry', afterMs: pauseOf(policy, tried, error) };
    return ended({ ...interrupted, message: 'The step did not end within its time limit.' });
  }
}
