import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import type { Scope } from '../../platform/database/scope.ts';
import type {
  OpenedStepKind,
  StepOutcome as Performed,
  StepFields,
  StepProgress,
} from '../../platform/parts/step-kind.ts';
import { ProviderFailure } from '../../platform/provider-failure.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';
import { ValueRenderer } from '../core/render-value.ts';
import type { RunErrorCode } from '../core/run-status.ts';
import { stepsNamed } from '../core/step-references.ts';
import type { ActionStep, FeatureStep } from '../core/step-types.ts';
import type { Warning } from '../core/template.ts';
import type { StepContext, StepEnd } from './step-context.ts';
import { storable } from './storable.ts';

export type PerformedStep = ActionStep | FeatureStep;

/** The part of a step that its kind reads. */
export function fieldsOf({ id: _, type: __, name: ___, ...fields }: PerformedStep): StepFields {
  return fields;
}

/** What fills in the templates of steps. */
export interface RenderServices {
  boundedWork: BoundedWork;
}

async function renderFields(
  work: BoundedWork,
  key: TenantKey,
  { rendersText }: OpenedStepKind,
  step: PerformedStep,
  context: StepContext,
): Promise<{ fields: StepFields; warnings: Warning[] }> {
  const renderer = new ValueRenderer(await context.values(stepsNamed(step)), { onlyTexts: rendersText ?? false });
  const payload = (await work.inMainThreadByParts(key, renderer.value(step.payload))) as StepFields['payload'];
  return { fields: { ...fieldsOf(step), payload }, warnings: renderer.warnings };
}

/** The end of a step, from what its feature says. */
export function endOfOutcome(outcome: Performed, warnings: Warning[] = []): StepEnd {
  if ('error' in outcome) {
    const { code, message, details, isUnknown } = outcome.error;
    const more = { ...(details && { details }), ...(isUnknown && { fault: 'unknown' as const }) };
    return { status: 'failed', code: code as RunErrorCode, message, ...more, warnings };
  }
  const output = storable(outcome.output);
  if (output) return { status: 'completed', output, warnings };
  return { status: 'failed', code: 'output_too_large', message: 'The answer is too large.', warnings };
}

/** A step that has not ended: it waits for its job, or for a slot of the plan. */
export type StepWaits = Exclude<StepProgress, Performed>;

/**
 * Performs a step of a feature. A retry after a crash has the same key, so that it is performed once.
 * @param attempt `mayWait`: whether the run can wait; `mayTryAgain`: whether the step is tried again where its feature asks for that
 * @throws ProviderFailure when another attempt may succeed; TemplateTooLong; the reason of `signal`; errors of the database
 */
export async function performStep(
  { boundedWork }: RenderServices,
  kind: OpenedStepKind,
  scope: Scope,
  context: StepContext,
  step: PerformedStep,
  { mayWait, mayTryAgain, signal }: { mayWait: boolean; mayTryAgain: boolean; signal: AbortSignal },
): Promise<StepEnd | StepWaits> {
  const { fields, warnings } = await renderFields(boundedWork, scope.tenantKey, kind, step, context);
  const progress = await kind.perform(scope, { fields, key: context.actionKey, mayWait, signal });
  if ('job' in progress || 'slotAfterMs' in progress) return progress;
  if ('error' in progress && progress.error.code === 'rate_limited' && mayTryAgain) {
    const { message, retryAfterMs } = progress.error;
    throw new ProviderFailure('rate_limited', message, { ...(retryAfterMs !== undefined && { retryAfterMs }) });
  }
  return endOfOutcome(progress, warnings);
}

/** The end of a step in a test run, in which features store nothing. @throws TemplateTooLong */
export async function simulateStep(
  { boundedWork }: RenderServices,
  kind: OpenedStepKind,
  scope: Scope,
  context: StepContext,
  step: PerformedStep,
): Promise<StepEnd> {
  const { fields, warnings } = await renderFields(boundedWork, scope.tenantKey, kind, step, context);
  return endOfOutcome(await kind.simulate(scope, fields), warnings);
}
