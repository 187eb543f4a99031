import { ProviderFailure } from '../platform/provider-failure.ts';
import type { Scope } from '../platform/scope.ts';
import type { StepActions } from './action-port.ts';
import { renderPayload } from './core/payload.ts';
import type { ActionStep } from './core/steps.ts';
import type { TemplateValues } from './core/template.ts';
import type { StepEnd } from './step-end.ts';
import { storable } from './storable.ts';

/**
 * Performs the action of a step. A retry after a crash has the same key, so that it is performed once.
 * @param key the same for each attempt of the step
 * @param mayTryAgain whether it waits and tries again where its integration asks for that
 * @throws ProviderFailure when another attempt may succeed; TemplateTooLong; the reason of `signal`; errors of the database
 */
export async function performStep(
  actions: Pick<StepActions, 'perform'>,
  scope: Scope,
  key: string,
  step: ActionStep,
  values: TemplateValues,
  { mayTryAgain, signal }: { mayTryAgain: boolean; signal: AbortSignal },
): Promise<StepEnd> {
  const { integration: integrationId, action: actionId } = step;
  const { payload, warnings } = renderPayload(step.payload, values);
  const outcome = await actions.perform(scope, { integrationId, actionId, payload, key, signal });
  if ('answer' in outcome) {
    const output = storable(outcome.answer);
    if (output) return { status: 'completed', output, warnings };
    return { status: 'failed', code: 'output_too_large', message: 'The answer of the action is too large.', warnings };
  }
  const { code, message, retryAfterMs } = outcome;
  if (code === 'rate_limited' && mayTryAgain) {
    throw new ProviderFailure('rate_limited', message, { ...(retryAfterMs !== undefined && { retryAfterMs }) });
  }
  return { status: 'failed', code, message, warnings };
}
