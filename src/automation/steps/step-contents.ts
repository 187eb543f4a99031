import type { BoundedWork } from '../../platform/bounded-work/bounded-work.ts';
import { WorkQueueFull, WorkTooCostly } from '../../platform/bounded-work/task.ts';
import { unavailable } from '../../platform/errors.ts';
import type { TenantKey } from '../../platform/security/tenant-key.ts';
import * as tasks from '../bounded/bounded-tasks.ts';
import type { CheckedExpression } from '../bounded/check-expression.ts';
import type { PlacedStep } from '../core/definition-tree.ts';
import { type ExpressionKind, type ExpressionVariable, findLengthProblem, itemVariables } from '../core/expression.ts';
import type { ExpressionReferences } from '../core/step-references.ts';
import { expressionOf, type Step, type StepProblem } from '../core/steps.ts';
import { findSchemaProblem } from './output-schema.ts';

/** For all steps of one workflow together, in milliseconds: of the processor, and by the clock on a busy machine. */
const defaultLimits = { usedMs: 10_000, clockMs: 30_000 };

type Runner = Pick<BoundedWork, 'run'>;

/** Checks an expression of a step of this kind. @param variables by default those of the kind. @throws WorkQueueFull */
export async function checkExpression(
  work: Runner,
  tenantKey: TenantKey,
  source: string | undefined,
  kind: ExpressionKind,
  variables?: readonly ExpressionVariable[],
): Promise<CheckedExpression> {
  if (source === undefined || source.trim() === '') return { problem: 'Expected an expression.' };
  const tooLong = findLengthProblem(source);
  if (tooLong) return { problem: tooLong };
  try {
    return await work.run(tasks.checkExpression, tenantKey, { source, kind, ...(variables && { variables }) });
  } catch (error) {
    if (error instanceof WorkTooCostly) return { problem: `The expression is too costly: ${error.message}` };
    throw error;
  }
}

/** The expression of a step, and the field that has it. */
function expressionIn(step: Step): { path: string; source: string | undefined; kind: ExpressionKind } | undefined {
  if (step.type === 'map') return { path: 'items', source: step.items, kind: 'items' };
  if (step.type === 'event') {
    return step.match === undefined ? undefined : { path: 'match', source: step.match, kind: 'match' };
  }
  if (step.type !== 'condition' && step.type !== 'transform') return undefined;
  const path = step.expression === undefined && step.prompt !== undefined ? 'prompt' : 'expression';
  return { path, source: expressionOf(step), kind: step.type };
}

/** The schema of a step, and the field that has it. */
function schemaIn(step: Step): { path: string; schema: Record<string, unknown> } | undefined {
  if (step.type === 'prompt' && step.outputSchema) return { path: 'outputSchema', schema: step.outputSchema };
  if (step.type === 'approval' && step.form) return { path: 'form', schema: step.form };
  return undefined;
}

type Checked = { path: string } & CheckedExpression;

/** @returns undefined for a step without expression or problem */
async function checkStep(
  work: Runner,
  tenantKey: TenantKey,
  { step, isInMap }: PlacedStep,
): Promise<Checked | undefined> {
  const withSchema = schemaIn(step);
  if (withSchema) {
    const problem = await findSchemaProblem(work, tenantKey, withSchema.schema);
    return problem ? { path: withSchema.path, problem } : undefined;
  }
  const found = expressionIn(step);
  if (!found) return undefined;
  const { path, source, kind } = found;
  const ofItem = isInMap ? (kind === 'match' ? [...itemVariables, 'event' as const] : itemVariables) : undefined;
  return { path, ...(await checkExpression(work, tenantKey, source, kind, ofItem)) };
}

interface ContentFindings {
  problems: StepProblem[];
  /** The references of each expression without a problem. */
  references: ExpressionReferences[];
}

/**
 * Problems inside steps, and what their expressions refer to: expressions and schemas are compiled when they are saved, not only when a run needs them.
 * @throws AppError service_unavailable while too much of the organization's is being checked, or the machine is too busy
 */
export async function checkContents(
  work: BoundedWork,
  tenantKey: TenantKey,
  placed: readonly PlacedStep[],
  limits = defaultLimits,
): Promise<ContentFindings> {
  const problems: StepProblem[] = [];
  const references: ExpressionReferences[] = [];
  const startedAt = performance.now();
  let usedMs = 0;
  const onUsed = (ms: number) => {
    usedMs += ms;
  };
  const metered: Runner = {
    run: (task, key, args, options) => work.run(task, key, args, { ...options, onUsed }),
  };
  try {
    for (const [index, place] of placed.entries()) {
      // What one step may take is bounded by itself.
      if (usedMs > limits.usedMs) {
        problems.push({ path: place.at, message: 'Checking the steps before this one took too long.' });
        break;
      }
      // Problems that are known already are worth more than another attempt.
      if (index > 0 && performance.now() - startedAt > limits.clockMs) {
        if (problems.length > 0) break;
        throw unavailable('Checking workflows');
      }
      const checked = await checkStep(metered, tenantKey, place);
      if (checked && 'problem' in checked)
        problems.push({ path: `${place.at}.${checked.path}`, message: checked.problem });
      else if (checked) references.push({ place, ...checked });
    }
  } catch (error) {
    if (error instanceof WorkQueueFull) throw unavailable('Checking workflows');
    throw error;
  }
  return { problems, references };
}
