import type { Scope } from '../../platform/database/scope.ts';
import { ProviderFailure } from '../../platform/provider-failure.ts';
import type { AskedModel } from '../core/run-status.ts';
import { stepsNamed } from '../core/step-references.ts';
import { type CallingStep, callsOut, candidatesOf, type ModelChoice, type PromptStep } from '../core/steps.ts';
import { failPoint } from '../fail-points.ts';
import type { RunServices } from '../runs/run-execution.ts';
import { askModels, askOnce, isInstant, questionOf, StepFailure } from './ask-model.ts';
import { isExpressionFault } from './evaluate-step.ts';
import type { StepContext } from './step-context.ts';
import type { StepEnd } from './step-end.ts';
import { storable } from './storable.ts';

/** Asks the model of a step that answers without leaving the process. @returns undefined when the step takes time */
export async function callInstantly(services: RunServices, scope: Scope, context: StepContext, step: CallingStep) {
  const mayBeInstant = services.providers.mayBeInstant(scope.tenant.environment);
  if (step.type !== 'prompt' || callsOut(step, mayBeInstant)) return undefined;
  const [asked] = candidatesOf(step, context.byDefault);
  const end = await askInstantModel(services, scope, context, step);
  return end && { asked, ...end };
}

/** @returns undefined when the model takes time or failed */
async function askInstantModel(
  services: RunServices,
  { tenant, tenantKey, correlationId }: Scope,
  context: StepContext,
  step: PromptStep,
): Promise<(StepEnd & { asked?: ModelChoice }) | undefined> {
  const { log, providers } = services;
  const models: AskedModel[] = [];
  const tried = () => models.length > 1 && { models };
  try {
    const question = questionOf(step, await context.values(stepsNamed(step)), context.byDefault);
    if (!isInstant(providers, tenant.environment, question)) return undefined;
    log.info({ runId: context.runId, stepId: step.id, attempt: 1, correlationId, ...tenant }, 'model called');
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
