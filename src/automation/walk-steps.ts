import type { Scope } from '../platform/scope.ts';
import { ProviderFailure } from '../providers/ports.ts';
import { AdvancingRun, type RunProgress, type RunRef, type RunServices, type StepEnd } from './advance-run.ts';
import { askModels, askOnce, isInstant, questionOf, StepFailure } from './ask-model.ts';
import type { AskedModel } from './core/run-status.ts';
import { stepsNamed } from './core/step-references.ts';
import {
  type CallingStep,
  callsOut,
  candidatesOf,
  isCalling,
  type ModelChoice,
  type PromptStep,
} from './core/steps.ts';
import { evaluateStep, isExpressionFault } from './evaluate-step.ts';
import { failPoint } from './fail-points.ts';
import { storable } from './storable.ts';

/** The values for the templates of a step. */
export async function valuesFor(run: AdvancingRun, step: CallingStep) {
  const { input, variables } = run.work;
  return { input, variables, steps: await run.outputs.of(stepsNamed(step)) };
}

/** @returns undefined when the model takes time or failed */
async function askAtOnce(
  services: RunServices,
  { tenant, tenantKey, correlationId }: Scope,
  runId: string,
  run: AdvancingRun,
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

/** @returns undefined when the step takes time */
async function callAtOnce(services: RunServices, scope: Scope, runId: string, run: AdvancingRun, step: CallingStep) {
  const mayBeInstant = services.providers.mayBeInstant(scope.tenant.environment);
  if (step.type !== 'prompt' || callsOut(step, mayBeInstant)) return undefined;
  const [asked] = candidatesOf(step, run.work.byDefault);
  const end = await askAtOnce(services, scope, runId, run, step);
  return end && { asked, ...end };
}

/**
 * How long a walk goes on before it is handed back. The activity that walks has ten seconds, and one that is repeated because
 * they are over would do the work of its last step twice.
 */
const maxWalkMs = 3_000;

/**
 * Executes the steps from the current one on that finish at once and records them together: expressions, and models that
 * answer without leaving the process. A recorded step is not executed again. Ends the run after its last step, or when a
 * step fails. A long walk is handed back after a step.
 * @throws StorageFailure while the storage of large outputs is not available
 */
export async function walkOn(
  services: RunServices,
  scope: Scope,
  runId: string,
  run: AdvancingRun,
): Promise<RunProgress> {
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
      const end = await callAtOnce(services, scope, runId, run, step);
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

/** Loads a run and executes its steps as `walkOn` does. */
export async function walkSteps(services: RunServices, scope: Scope, ref: RunRef): Promise<RunProgress> {
  const run = await AdvancingRun.load(services, scope, ref);
  return run ? walkOn(services, scope, ref.runId, run) : { kind: 'gone' };
}
