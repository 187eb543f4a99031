import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import type { Scope } from '../../platform/database/scope.ts';
import { AppError } from '../../platform/errors.ts';
import { ProviderFailure } from '../../platform/provider-failure.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';
import type { Environment } from '../../platform/tenant.ts';
import type { Call, ProviderRegistry, TextAnswer, TextModel, TextRequest } from '../../providers/index.ts';
import type { AskedModel, ModelFailureCode } from '../core/run-status.ts';
import { stepsNamed } from '../core/step-references.ts';
import { type CallingStep, callsOut, candidatesOf, type ModelChoice, type PromptStep } from '../core/steps.ts';
import { renderInParts, type TemplateValues, type Warning } from '../core/template.ts';
import { failPoint } from '../fail-points.ts';
import type { RunServices } from '../runs/run-execution.ts';
import { isExpressionFault } from './evaluate-step.ts';
import { checkAnswer } from './output-schema.ts';
import type { StepContext, StepEnd } from './step-context.ts';
import { storable } from './storable.ts';

/** A call of the model of a step. Each request to a model begins a new text for the readers. */
export interface ModelCall extends Omit<Call, 'onDelta'> {
  newText?: (() => (text: string) => void) | undefined;
}

/** The same for one request. */
export const callOnce = ({ newText, ...call }: ModelCall): Call =>
  newText ? Object.assign(call, { onDelta: newText() }) : call;

/** The same call without a stream: the text must not be read before the answer has ended. */
export const callUnseen = ({ newText: _, ...call }: ModelCall): Call => call;

/** A step that has failed for good. Its message may be shown to the tenant. */
export class StepFailure extends Error {
  override name = 'StepFailure';
  readonly code: ModelFailureCode;
  readonly tokensUsed: number;

  constructor(code: ModelFailureCode, message: string, tokensUsed = 0) {
    super(message);
    this.code = code;
    this.tokensUsed = tokensUsed;
  }
}

/** A prompt step with its names filled in. */
export interface Question {
  request: Omit<TextRequest, keyof ModelChoice>;
  candidates: [ModelChoice, ...ModelChoice[]];
  warnings: Warning[];
}

/** The template of a prompt step that has none. */
const defaultTemplate = '{{input}}';

/** @throws TemplateTooLong */
export async function questionOf(
  work: BoundedWork,
  key: TenantKey,
  step: PromptStep,
  values: TemplateValues,
  byDefault: ModelChoice,
): Promise<Question> {
  const render = (template: string) => work.inMainThreadByParts(key, renderInParts(template, values));
  const prompt = await render(step.prompt ?? defaultTemplate);
  const system = step.system === undefined ? undefined : await render(step.system);
  const { temperature, maxTokens, outputSchema } = step;
  return {
    request: {
      prompt: prompt.text,
      ...(system && { system: system.text }),
      ...(temperature !== undefined && { temperature }),
      ...(maxTokens !== undefined && { maxTokens }),
      ...(outputSchema && { outputSchema }),
    },
    candidates: candidatesOf(step, byDefault),
    warnings: [...prompt.warnings, ...(system?.warnings ?? [])],
  };
}

/** Whether the first model answers without leaving the process. */
export function isInstant(providers: ProviderRegistry, environment: Environment, question: Question): boolean {
  const [first] = question.candidates;
  try {
    return providers.textModel(environment, first.provider, first.model).isInstant({ ...question.request, ...first });
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

export interface Answer {
  output: unknown;
  tokensUsed: number;
  warnings: Warning[];
  /** The model that answered, as the step names it. */
  asked: ModelChoice;
}

const addWarnings = ({ truncated, ignored = [] }: TextAnswer): Warning[] => [
  ...ignored.map((name) => ({ code: 'setting_ignored' as const, name })),
  ...(truncated ? [{ code: 'answer_truncated' as const, name: 'maxTokens' }] : []),
];

export const tokensOf = ({ inputTokens, outputTokens }: TextAnswer) => inputTokens + outputTokens;

const mismatch = (problem: string, tokensUsed: number, more = '') =>
  new StepFailure(
    'output_schema_mismatch',
    `The model's answer does not match outputSchema: ${problem}.${more}`,
    tokensUsed,
  );

/**
 * The answer of a model to `request`. An answer that does not match the schema is sent back once with the problem.
 * @throws StepFailure, ProviderFailure
 */
export async function fitToSchema(
  work: BoundedWork,
  model: TextModel,
  asked: ModelChoice,
  request: TextRequest,
  call: ModelCall,
  answer: TextAnswer,
): Promise<Answer> {
  const schema = request.outputSchema;
  const plain = { tokensUsed: tokensOf(answer), asked };
  if (!schema) return { ...plain, output: answer.text, warnings: addWarnings(answer) };
  const check = ({ text }: TextAnswer) => checkAnswer(work, call.tenantKey, schema, text);
  const checked = await check(answer);
  if ('value' in checked) return { ...plain, output: checked.value, warnings: addWarnings(answer) };
  if (checked.isFinal) throw mismatch(checked.problem, plain.tokensUsed);

  const correction = `${request.prompt}\n\nYour answer was:\n${answer.text}\n\nIt is not valid: ${checked.problem}. Return a corrected answer.`;
  const repaired = await model.generate({ ...request, prompt: correction }, callOnce(call));
  const tokensUsed = plain.tokensUsed + tokensOf(repaired);
  const again = await check(repaired);
  if ('value' in again) return { output: again.value, warnings: addWarnings(repaired), tokensUsed, asked };
  const cut = repaired.truncated ? ' It ends where the limit of tokens was reached.' : '';
  throw mismatch(again.problem, tokensUsed, cut);
}

const codes: Partial<Record<ProviderFailure['kind'], ModelFailureCode>> = {
  content_refused: 'content_refused',
  timeout: 'timeout',
};

const factsOf = ({ code, message }: StepFailure) => ({ code, message });

/** The step's failure when no model is left to try. */
export const lastFailure = (failure: ProviderFailure): StepFailure =>
  new StepFailure(codes[failure.kind] ?? 'service_unavailable', failure.message);

/** Asks one model. */
export const askOnce =
  (
    { providers, boundedWork }: { providers: ProviderRegistry; boundedWork: BoundedWork },
    environment: Environment,
    { request }: Question,
  ) =>
  async (asked: ModelChoice, call: ModelCall): Promise<Answer> => {
    const model = providers.textModel(environment, asked.provider, asked.model);
    const whole = { ...request, ...asked };
    return fitToSchema(boundedWork, model, asked, whole, call, await model.generate(whole, callOnce(call)));
  };

/** The answer with these warnings after its own. */
const withWarnings = <Asked extends { asked: ModelChoice }>(answer: Asked, warnings: Warning[]): Asked =>
  'warnings' in answer ? { ...answer, warnings: [...warnings, ...(answer.warnings as Warning[])] } : answer;

/**
 * Calls the step's models in order: the next one when a model fails with a retryable failure or is not configured.
 * @param models gets every model that was asked, with its failure
 * @param ask asks one of them
 * @throws ProviderFailure when every model failed with a retryable failure; StepFailure when a retry cannot help; the
 *   signal's reason once it is aborted
 */
export async function askModels<Asked extends { asked: ModelChoice }>(
  tenantKey: TenantKey,
  { candidates, warnings }: Question,
  call: Omit<ModelCall, 'tenantKey'>,
  models: AskedModel[],
  onFailure: (asked: ModelChoice, failure: ProviderFailure) => void,
  ask: (asked: ModelChoice, call: ModelCall) => Promise<Asked>,
): Promise<Asked> {
  let retryable: ProviderFailure | undefined;
  let unconfigured: AppError | undefined;
  for (const asked of candidates) {
    try {
      const answer = await ask(asked, { ...call, tenantKey });
      models.push({ ...asked });
      return withWarnings(answer, warnings);
    } catch (error) {
      if (error instanceof AppError && error.code === 'provider_not_configured') {
        unconfigured = error;
        models.push({ ...asked, error: { code: 'provider_not_configured', message: error.message } });
        continue;
      }
      if (error instanceof StepFailure) models.push({ ...asked, error: factsOf(error) });
      if (!(error instanceof ProviderFailure)) throw error;
      models.push({ ...asked, error: factsOf(lastFailure(error)) });
      onFailure(asked, error);
      if (!error.retryable) throw retryable ?? lastFailure(error);
      // The model that can be retried soonest decides the delay.
      const isSooner = !retryable || (error.retryAfterMs ?? 0) < (retryable.retryAfterMs ?? 0);
      if (isSooner) retryable = error;
    }
  }
  throw retryable ?? new StepFailure('service_unavailable', unconfigured!.message);
}

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
  const { log, providers, boundedWork } = services;
  const models: AskedModel[] = [];
  const tried = () => models.length > 1 && { models };
  try {
    const values = await context.values(stepsNamed(step));
    const question = await questionOf(boundedWork, tenantKey, step, values, context.byDefault);
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
