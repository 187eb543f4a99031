import type { Scope } from '../../platform/database/scope.ts';
import { ProviderFailure } from '../../platform/provider-failure.ts';
import { StorageFailure } from '../../storage/index.ts';
import { type AskedModel, storageFailed } from '../core/run-status.ts';
import { stepsNamed } from '../core/step-references.ts';
import type { FeatureStep } from '../core/step-types.ts';
import { type CallingStep, type ModelChoice, type PromptStep, usesTools } from '../core/steps.ts';
import { failPoint } from '../fail-points.ts';
import type { RunServices } from '../runs/run-execution.ts';
import { type Answer, askModels, askOnce, lastFailure, questionOf, StepFailure } from './ask-model.ts';
import { askWithTools, type ToolCalls } from './ask-with-tools.ts';
import { isExpressionFault } from './evaluate-step.ts';
import { type PerformedStep, performStep, type StepWaits } from './perform-step.ts';
import type { StepContext, StepOutcome } from './step-context.ts';
import { storableWithoutBlocking } from './storable.ts';

/** How often a step says that it is tried in all. */
const attemptsGiven = (step: CallingStep | FeatureStep): number | undefined =>
  'retry' in step ? step.retry?.maxAttempts : undefined;

/** Attempts that a crash interrupted are repeated, which is safe for steps of features: their key prevents a second one. */
export function attemptsOf(step: CallingStep | FeatureStep, byDefault: number): number {
  const own = attemptsGiven(step);
  return step.type === 'prompt' ? (own ?? byDefault) : Math.max(own ?? 1, byDefault);
}

/** One attempt of a step. */
export interface Attempt {
  /** From 1. */
  number: number;
  /** Whether a failure that may pass is thrown. */
  mayTryAgain: boolean;
  /** Whether the run can wait for jobs, and for slots of the plan. */
  mayWait: boolean;
  /** Whether there is time for tools. */
  mayCallTools: boolean;
  signal: AbortSignal;
}

/**
 * Makes one attempt of a step: asks its model, or calls its feature.
 * @returns how the step ended; the calls of tools that its model asks for; or what it waits for
 * @throws ProviderFailure and StorageFailure when another attempt may succeed; the signal's reason once it is aborted
 */
export async function attemptStep(
  services: RunServices,
  scope: Scope,
  context: StepContext,
  step: CallingStep | FeatureStep,
  attempt: Attempt,
): Promise<StepOutcome | ToolCalls | StepWaits> {
  const models: AskedModel[] = [];
  const tried = () => models.length > 1 && { models };
  try {
    if (step.type !== 'prompt') return await performForFeature(services, scope, context, step, attempt);
    const outcome = await askModelOf(services, scope, context, step, attempt, models);
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
  context: StepContext,
  step: PromptStep,
  { number, mayCallTools, signal }: Attempt,
  models: AskedModel[],
): Promise<StepOutcome | ToolCalls> {
  const { tenant, correlationId } = scope;
  const { runId, position } = context;
  const facts = { runId, stepId: step.id, attempt: number, correlationId, ...tenant };
  const onFailure = (asked: ModelChoice, { kind, status, requestId }: ProviderFailure) =>
    services.log.warn({ ...facts, ...asked, kind, status, providerRequestId: requestId }, 'a model failed');
  const values = await context.values(stepsNamed(step));
  const question = await questionOf(services.boundedWork, scope.tenantKey, step, values, context.byDefault);
  services.log.info(facts, 'model called');
  // A reader can begin at any time, and gets the text that was written before.
  const writer = services.stepTexts.write(tenant, runId, context.path ?? step.id, number);
  let isOver = false;
  const call = { attempt: number, signal, newText: writer.begin };
  const ref = { runId, position };
  const ask = () => {
    if (usesTools(step)) {
      return askWithTools(services, scope, { ...ref, mayCallTools }, question, call, models, onFailure);
    }
    const once = askOnce(services, tenant.environment, question);
    return askModels(scope.tenantKey, question, call, models, onFailure, once);
  };
  let answer: Answer | ToolCalls;
  try {
    answer = await ask();
    isOver = !('calls' in answer);
  } finally {
    writer.end(isOver);
  }
  if ('calls' in answer) return answer;
  failPoint('step.called');
  const { tokensUsed, warnings, asked } = answer;
  const output = await storableWithoutBlocking(services.boundedWork, scope.tenantKey, answer.output);
  if (!output) throw new StepFailure('internal_error', 'The answer is too large.', tokensUsed);
  return { status: 'completed', output, tokensUsed, warnings, asked };
}

async function performForFeature(
  services: RunServices,
  scope: Scope,
  context: StepContext,
  step: PerformedStep,
  { number, mayWait, signal }: Attempt,
): Promise<StepOutcome | StepWaits> {
  const { tenant, correlationId } = scope;
  const { id: stepId, type } = step;
  const { runId } = context;
  services.log.info({ runId, stepId, type, attempt: number, correlationId, ...tenant }, 'step performed');
  // Where the feature is limited, the step says whether it is tried again.
  const mayTryAgain = number < (attemptsGiven(step) ?? 1);
  const kind = services.stepKinds.get(type);
  const end = await performStep(services, kind, scope, context, step, { mayWait, mayTryAgain, signal });
  failPoint('step.called');
  return end;
}
