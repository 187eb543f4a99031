import { setTimeout as sleep } from 'node:timers/promises';
import { ProviderFailure } from '../../platform/provider-failure.ts';
import type { Scope } from '../../platform/scope.ts';
import { StorageFailure } from '../../storage/index.ts';
import type { RunPolicy } from '../../temporal/contracts/automation.ts';
import type { ToolCalls } from '../ask-with-tools.ts';
import { attemptStep, attemptsOf } from '../attempt-step.ts';
import type { CallingStep, ModelChoice } from '../core/steps.ts';
import type { StoredEnd } from '../output-space.ts';
import type { RunServices } from '../run-execution.ts';
import type { StepContext } from '../step-context.ts';
import type { StepEnd } from '../step-end.ts';
import type { BegunRow } from './record-sql.ts';

/** What came of one attempt of a step that calls out. `retry`: another one may succeed, after so long. */
export type LeafResult =
  | { kind: 'ended'; end: StoredEnd; asked?: ModelChoice | undefined }
  | { kind: 'tools'; calls: ToolCalls }
  | { kind: 'retry'; afterMs: number }
  | { kind: 'aborted' };

export interface LeafCall {
  context: StepContext;
  step: CallingStep;
  begun: Pick<BegunRow, 'attempts' | 'rounds' | 'ageMs'>;
  /** Stores what it ended with. */
  keep(end: StepEnd, isLast: boolean): Promise<StoredEnd>;
  /** Aborted when the step is to be stopped. */
  signal: AbortSignal;
}

/** Pauses between attempts to store an answer. It is paid for: another call of the model would cost again. */
const storePausesMs = [500, 2_000, 5_000];

async function keepPaid({ keep, signal }: LeafCall, end: StepEnd): Promise<StoredEnd> {
  for (const pauseMs of storePausesMs) {
    try {
      return await keep(end, false);
    } catch (error) {
      if (!(error instanceof StorageFailure)) throw error;
    }
    await sleep(pauseMs, undefined, { signal });
  }
  return keep(end, true);
}

/** How long a step waits before its next attempt. @param tried attempts so far */
function pauseOf({ modelCall: { retry, maximumRetryAfterMs } }: RunPolicy, tried: number, failure: unknown): number {
  const asked = failure instanceof ProviderFailure ? failure.retryAfterMs : undefined;
  if (asked !== undefined) return Math.min(asked, maximumRetryAfterMs);
  return Math.min(retry.initialIntervalMs * retry.backoff ** (tried - 1), retry.maximumIntervalMs);
}

/** Makes one attempt of a step that calls out, and stores its output. Its row counts the attempt already. */
export async function callLeaf(
  services: RunServices,
  scope: Scope,
  policy: RunPolicy,
  call: LeafCall,
): Promise<LeafResult> {
  const { context, step, begun, signal } = call;
  const tried = begun.attempts - begun.rounds;
  const { modelCall } = policy;
  const maxAttempts = attemptsOf(step, modelCall.retry.maximumAttempts);
  const ended = async (end: StepEnd, asked?: ModelChoice): Promise<LeafResult> => ({
    kind: 'ended',
    end: await keepPaid(call, end),
    asked,
  });
  if (tried > maxAttempts) {
    // Attempts without a result: a killed worker, a timeout, a failed write.
    return ended({ status: 'failed', code: 'timeout', message: 'The step was interrupted too often.' });
  }
  const timeout = AbortSignal.timeout(modelCall.timeoutMs);
  const mayTryAgain = tried < maxAttempts;
  try {
    const mayCallTools = begun.ageMs < modelCall.timeoutMs;
    const attempt = { number: tried, mayTryAgain, mayCallTools, signal: AbortSignal.any([signal, timeout]) };
    const outcome = await attemptStep(services, scope, context, step, attempt);
    if ('calls' in outcome) return { kind: 'tools', calls: outcome };
    const { asked, ...end } = outcome;
    return await ended(end, asked);
  } catch (error) {
    if (signal.aborted) return { kind: 'aborted' };
    const isPassing = error instanceof ProviderFailure || error instanceof StorageFailure || timeout.aborted;
    if (!isPassing) throw error;
    if (mayTryAgain) return { kind: 'retry', afterMs: pauseOf(policy, tried, error) };
    return ended({ status: 'failed', code: 'timeout', message: 'The step did not end within its time limit.' });
  }
}
